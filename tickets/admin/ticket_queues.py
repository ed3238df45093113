"""The ticket queues: mailbox, and texts of outgoing mail."""

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.formats import localize
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.admin import Admin, actor_of, confirm_first, display, never, page_action
from callcentre.admin.base import with_images_from_elsewhere
from callcentre.admin.secrets import password_inputs
from tickets.admin.password_form import PasswordForm, StoredPassword, password_field, removal_field
from tickets.mail import oauth
from tickets.models import MailboxGrant, MailboxTest, MailLogin, TicketQueue
from tickets.placeholders import has_placeholder
from tickets.reasons import translated
from tickets.verbs.mailboxes import request_mailbox_test

# The columns of a server, after the name of its protocol.
SERVER = ("host", "port", "uses_tls", "allows_plain")
# A change of one of these means another mailbox: its state begins anew.
MAILBOX = {"imap_host", "imap_port", "imap_user", "imap_folder"}
UNREAD: dict[str, Any] = {
    "imap_validity": None,
    "imap_last_uid": 0,
    "imap_pending": [],
    "imap_stuck_uid": None,
    "imap_stuck_count": 0,
    "polled_at": None,
    "read_at": None,
    "failing_since": None,
    "poll_error": "",
}


class TicketQueueForm(PasswordForm):
    passwords = (
        StoredPassword("imap_password", ("imap_login", *(f"imap_{name}" for name in SERVER))),
        StoredPassword("smtp_password", ("smtp_uses_mailbox", *(f"smtp_{name}" for name in SERVER)), "smtp_"),
    )

    smtp_new_password = password_field()
    smtp_forget_password = removal_field()

    class Meta:
        model = TicketQueue
        fields = "__all__"
        widgets = {
            "signature": UnfoldAdminTextareaWidget(attrs={"data-editor": "1", "data-height": "160"}),
            "acknowledgement": UnfoldAdminTextareaWidget(attrs={"data-editor": "1", "data-height": "200"}),
            "template": UnfoldAdminTextareaWidget(attrs={"rows": 8, "class": "cc-monospace"}),
        }

    def clean(self) -> Any:
        # A password is no use where a token opens the mailbox; it could go to another server later.
        has_token = self.cleaned_data.get("imap_login", MailLogin.PASSWORD) != MailLogin.PASSWORD
        for each, is_useless in zip(
            self.passwords, (has_token, self.cleaned_data.get("smtp_uses_mailbox")), strict=True
        ):
            if is_useless:
                self.cleaned_data |= {each.new: "", each.forget: True}
        return super().clean()

    def touched(self) -> list[str]:
        """Return the names of the changed columns, with those that follow from the log-in."""
        chosen = {"imap": self.instance.login.provider, "smtp": self.instance.smtp_uses_mailbox}
        names = {f"{server}_{name}" for server, is_chosen in chosen.items() if is_chosen for name in SERVER}
        followed = {name for name in names if self.initial.get(name) != getattr(self.instance, name)}
        useless = [each.column for each in self.passwords if self.cleaned_data.get(each.forget)]
        return sorted({*super().touched(), *followed, *useless})

    def clean_template(self) -> str:
        template: str = self.cleaned_data["template"]
        if template and not has_placeholder(template, "body"):
            raise forms.ValidationError(_("A reply's text has no place in it: write {{ body }} where it stands."))
        return template


SENDING: dict[str, Any] = {"smtp_failing_since": None, "smtp_failed_at": None, "smtp_error": ""}


@admin.register(TicketQueue)
@method_decorator(with_images_from_elsewhere, "changeform_view")
class TicketQueueAdmin(Admin):
    """Ticket queues with their address and the state of their mailbox."""

    form = TicketQueueForm
    list_display = ("name", "address", "mailbox", "polled_at", "is_active")
    list_display_links = ("name",)
    list_further = (
        *("sender_name", "language", "asks_for_rating", "acknowledges", "imap_host", "imap_user", "imap_folder"),
        "read_at",
        "id",
    )
    list_filter = ("is_active",)
    search_fields = ("name", "address")
    search_help_text = _("Name or address")
    actions = ("activate", "deactivate")
    actions_detail = ("test_connection", "connect")
    readonly_fields = ("mailbox_now", "sending_now")
    has_delete_permission = never  # a queue has tickets, so it is made inactive instead

    class Media:
        css = {"all": ("callcentre/jodit/jodit.min.css", "callcentre/editor.css")}
        js = ("callcentre/jodit/jodit.min.js", "callcentre/editor.js", "callcentre/progress.js")

    def get_urls(self) -> list[URLPattern]:
        route = "<path:object_id>/test-connection/progress/"
        return [
            self.url_to(route, self.test_progress, "test_progress"),
            self.url_to("connected/", self.connected, "connected"),
            *super().get_urls(),
        ]

    def get_fieldsets(self, request: HttpRequest, obj: TicketQueue | None = None) -> Any:
        """Return the sections of the page. People who may only look get no input for a password."""
        may_change = self.has_change_permission(request, obj) if obj else True
        read, sent = (TicketQueueForm.inputs(obj, each) if may_change else [] for each in TicketQueueForm.passwords)
        own = password_inputs(request) if obj and may_change else []
        imap, smtp = ([f"{name}_{column}" for column in SERVER] for name in ("imap", "smtp"))
        server = [*(["mailbox_now"] if obj else []), "imap_login", *imap, "imap_user"]
        sender = [*(["sending_now"] if obj else []), "smtp_uses_mailbox", *smtp, "smtp_user", *sent, "smtp_limit"]
        mail = ["address", "sender_name", "language", "signature", "template", "asks_for_rating"]
        return [
            (None, {"fields": ["name", "is_active", "team"]}),
            (_("Mail out"), {"fields": [*mail, "acknowledges", "acknowledgement"]}),
            (_("Mailbox"), {"fields": [*server, *read, *own, "imap_folder"]}),
            (_("SMTP server of the queue"), {"fields": sender}),
            (_("Quarantine"), {"fields": ["sender_limit", "unlimited_senders"]}),
        ]

    def save_model(self, request: HttpRequest, obj: TicketQueue, form: Any, change: bool) -> None:
        if not change:
            obj.save(force_insert=True)
        elif touched := form.touched():
            reset = UNREAD if MAILBOX & set(touched) else {}
            if any(name.startswith("smtp_") for name in touched):
                reset = reset | SENDING
            for name, value in reset.items():
                setattr(obj, name, value)
            obj.save(update_fields=[*touched, *reset, "updated_at"])
            if any(name.startswith("imap_") for name in touched):
                # The result is of another mailbox, or of another log-in.
                MailboxTest.objects.filter(pk=obj.pk).delete()
            if {"imap_login", "imap_user"} & set(touched):
                MailboxGrant.objects.filter(pk=obj.pk).delete()

    # Columns and fields

    @display(description=_("mailbox"), label={"failing": "danger", "read": "success", "new": "info"})
    def mailbox(self, queue: TicketQueue) -> Any:
        if not queue.imap_host:
            return None
        if queue.poll_error:
            return "failing", _now("not read")
        return ("read", _now("read")) if queue.polled_at else ("new", _now("not read yet"))

    @display(description=_("state"))
    def mailbox_now(self, queue: TicketQueue) -> str:
        if not queue.imap_host:
            return _now("No mailbox is read: mail is handed in by manage.py receive_mail.")
        if queue.polled_at is None:
            return _now("Not read yet.")
        read_at = localize(timezone.localtime(queue.polled_at))
        if queue.poll_error:
            return _now("The last attempt, at %(time)s, failed: %(error)s") % {
                "time": read_at,
                "error": queue.why_not_read,
            }
        refused = MailboxGrant.objects.filter(pk=queue.pk).exclude(error="").values_list("error", flat=True).first()
        # The open connection may still work; the next log-in will not.
        state = _now("Read at %(time)s.") % {"time": read_at}
        return f"{state} {translated(refused)}" if refused else state

    @display(description=_("state"))
    def sending_now(self, queue: TicketQueue) -> str:
        if not queue.smtp_host:
            return _now("Mail is sent by the server of the service.")
        if queue.smtp_failing_since:
            since = localize(timezone.localtime(queue.smtp_failing_since))
            return _now("Since %(time)s no mail is sent: %(error)s") % {"time": since, "error": queue.why_not_sent}
        return _now("The last attempt to send found the server ready, or there was none.")

    # The actions

    @page_action(
        description=_("Test the connection"), url_path="test-connection", icon="network_check", permissions=["change"]
    )
    def test_connection(self, request: HttpRequest, object_id: str) -> HttpResponse:
        queue = self.row_or_404(request, object_id)
        if request.method == "POST":
            request_mailbox_test(queue, actor_of(request))
            return redirect(request.path)
        test = MailboxTest.objects.filter(pk=queue.pk).first()
        return self.page(
            request,
            "admin/tickets/mailbox_test.html",
            queue,
            title=_now("Test the connection"),
            test=test,
            progress_url=self.url_of("test_progress", queue.pk),
            queue_url=self.url_of("change", queue.pk),
        )

    def test_progress(self, request: HttpRequest, object_id: str) -> JsonResponse:
        """Tell the page whether the test has ended."""
        queue = self.row_or_404(request, object_id)
        test = MailboxTest.objects.filter(pk=queue.pk).first()
        return JsonResponse({"has_ended": test is None or test.has_ended})

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        queue = self.get_object(request, object_id)
        actions = super().get_actions_detail(request, object_id)
        if queue is not None and queue.login.needs_consent:
            return actions
        return [one for one in actions if not one.action_name.endswith("_connect")]

    @page_action(description=_("Connect the mailbox"), url_path="connect", icon="link", permissions=["change"])
    def connect(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send the person to the provider, to agree that the service uses the mailbox."""
        queue = self.row_or_404(request, object_id)
        if not queue.login.needs_consent:
            raise Http404
        provider, back = queue.login.provider.capitalize(), request.build_absolute_uri(self.url_of("connected"))
        if request.method == "POST":
            try:
                return redirect(oauth.consent_url(queue, actor_of(request).name, back))
            except oauth.NoToken as reason:
                self.message_user(request, translated(str(reason)), messages.ERROR)
        intro = _now(
            "You go to %(provider)s, sign in there as %(user)s, and agree that the service reads and sends its mail."
            " The application of the service there must name this address to return to: %(address)s"
        )
        intro %= {"provider": provider, "user": queue.imap_user, "address": back}
        title = _now("Connect the mailbox")
        page = self.action_page(request, title=title, submit=_now("Go to %s") % provider, obj=queue, intro=intro)
        # The form leads to the provider.
        origin = urlsplit(oauth.PROVIDERS[queue.login.provider].authorize_url)
        page._csp_update = {"form-action": [f"{origin.scheme}://{origin.netloc}"]}  # type: ignore[attr-defined]
        return page

    def connected(self, request: HttpRequest) -> HttpResponse:
        """Take the person back from the provider, keep the tokens, and test the mailbox."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        grant = oauth.consented(request.GET.get("state", ""), actor_of(request).name)
        if grant is None:
            sentence = _now(
                "You have begun no such consent within the last quarter of an hour: connect the mailbox again."
            )
            self.message_user(request, sentence, messages.ERROR)
            return redirect(self.url_of("changelist"))
        queue = self.row_or_404(request, str(grant.pk))
        try:
            if not (code := request.GET.get("code", "")):
                raise oauth.NoToken(f"{oauth.NO_CONSENT}: {request.GET.get('error', '')[:100]}")
            oauth.exchange(grant, code, request.build_absolute_uri(request.path))
        except oauth.NoToken as reason:
            self.message_user(request, translated(str(reason)), messages.ERROR)
            return redirect(self.url_of("change", queue.pk))
        self.message_user(request, _now("The mailbox is connected."), messages.SUCCESS)
        request_mailbox_test(queue, actor_of(request))
        return redirect(self.url_of("test_connection", queue.pk))

    @admin.action(description=_("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, queues: QuerySet[TicketQueue]) -> None:
        count = queues.exclude(is_active=True).update(is_active=True, updated_at=timezone.now())
        sentence = ngettext("%(count)s queue activated.", "%(count)s queues activated.", count)
        self.say_done(request, sentence, count)

    @admin.action(description=_("Deactivate"), permissions=["change"])
    @confirm_first(_("The queues take no new tickets, and their mailboxes are not read."), is_active=True)
    def deactivate(self, request: HttpRequest, queues: QuerySet[TicketQueue]) -> None:
        count = queues.exclude(is_active=False).update(is_active=False, updated_at=timezone.now())
        sentence = ngettext("%(count)s queue deactivated.", "%(count)s queues deactivated.", count)
        self.say_done(request, sentence, count)
