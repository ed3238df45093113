"""The ticket queues: mailbox, texts of outgoing mail, opening hours and targets."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.formats import localize
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.admin import Admin, WeekdaysInline, actor_of, confirm_first, display, page_action
from callcentre.admin.base import with_images_from_elsewhere
from tickets.admin.password_form import PasswordForm
from tickets.models import MailboxTest, TicketQueue, TicketQueueHours
from tickets.placeholders import has_placeholder
from tickets.verbs.mailbox_tests import request_mailbox_test

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
    column = "imap_password"
    destination = ("imap_host", "imap_port", "imap_uses_tls", "imap_allows_plain")

    class Meta:
        model = TicketQueue
        fields = "__all__"
        widgets = {
            "signature": UnfoldAdminTextareaWidget(attrs={"data-editor": "1", "data-height": "160"}),
            "acknowledgement": UnfoldAdminTextareaWidget(attrs={"data-editor": "1", "data-height": "200"}),
            "template": UnfoldAdminTextareaWidget(attrs={"rows": 8, "class": "cc-monospace"}),
        }

    def clean_template(self) -> str:
        template: str = self.cleaned_data["template"]
        if template and not has_placeholder(template, "body"):
            raise forms.ValidationError(_("A reply's text has no place in it: write {{ body }} where it stands."))
        return template


class HoursInline(WeekdaysInline):
    model = TicketQueueHours
    fields = ("weekday", "opens_at", "closes_at")


@admin.register(TicketQueue)
@method_decorator(with_images_from_elsewhere, "changeform_view")
class TicketQueueAdmin(Admin):
    """Ticket queues with their address, the state of their mailbox and their targets."""

    form = TicketQueueForm
    list_display = ("name", "address", "mailbox", "polled_at", "targets", "is_active")
    list_display_links = ("name",)
    list_further = (
        *("sender_name", "language", "asks_for_rating", "acknowledges", "imap_host", "imap_user", "imap_folder"),
        *("read_at", "first_response_minutes", "resolution_minutes", "id"),
    )
    list_filter = ("is_active",)
    search_fields = ("name", "address")
    search_help_text = _("Name or address")
    actions = ("activate", "deactivate")
    actions_detail = ("test_connection",)
    readonly_fields = ("mailbox_now",)
    inlines = (HoursInline,)

    class Media:
        css = {"all": ("callcentre/jodit/jodit.min.css", "callcentre/editor.css")}
        js = ("callcentre/jodit/jodit.min.js", "callcentre/editor.js", "callcentre/progress.js")

    def get_urls(self) -> list[URLPattern]:
        route = "<path:object_id>/test-connection/progress/"
        return [self.url_to(route, self.test_progress, "test_progress"), *super().get_urls()]

    def get_inlines(self, request: HttpRequest, obj: TicketQueue | None) -> Any:
        """Return no opening hours for a new queue: it has no id that they could refer to."""
        return self.inlines if obj else ()

    def response_add(self, request: HttpRequest, obj: TicketQueue, post_url_continue: str | None = None) -> Any:
        """Continue on the page of the new queue, for its opening hours."""
        if "_addanother" not in request.POST:
            posted = request.POST.copy()
            posted["_continue"] = "1"
            request.POST = posted  # type: ignore[assignment]
        return super().response_add(request, obj, post_url_continue)

    def get_fieldsets(self, request: HttpRequest, obj: TicketQueue | None = None) -> Any:
        """Return the sections of the page. People who may only look get no input for a password."""
        may_change = self.has_change_permission(request, obj) if obj else True
        password = TicketQueueForm.inputs(request, obj) if may_change else []
        encryption = ["imap_uses_tls", "imap_allows_plain"]
        server = [*(["mailbox_now"] if obj else []), "imap_host", "imap_port", *encryption, "imap_user"]
        mail = ["address", "sender_name", "language", "signature", "template", "asks_for_rating"]
        return [
            (None, {"fields": ["name", "is_active"]}),
            (_("Mail out"), {"fields": [*mail, "acknowledges", "acknowledgement"]}),
            (_("Mailbox"), {"fields": [*server, *password, "imap_folder"]}),
            (_("Quarantine"), {"fields": ["sender_limit", "unlimited_senders"]}),
            (_("Targets"), {"fields": [("first_response_minutes", "resolution_minutes")]}),
        ]

    def has_delete_permission(self, request: HttpRequest, obj: TicketQueue | None = None) -> bool:
        """Refuse: a queue has tickets, so it is made inactive instead."""
        return False

    def save_model(self, request: HttpRequest, obj: TicketQueue, form: Any, change: bool) -> None:
        if not change:
            obj.save(force_insert=True)
        elif touched := form.touched():
            reset = UNREAD if MAILBOX & set(touched) else {}
            for name, value in reset.items():
                setattr(obj, name, value)
            obj.save(update_fields=[*touched, *reset, "updated_at"])
            if {*MAILBOX, *form.destination, form.column} & set(touched):
                # The result is of another mailbox, or of another log-in.
                MailboxTest.objects.filter(pk=obj.pk).delete()

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
        return _now("Read at %(time)s.") % {"time": read_at}

    @display(description=_("response / resolution within"))
    def targets(self, queue: TicketQueue) -> str:
        minutes = (queue.first_response_minutes, queue.resolution_minutes)
        return "" if minutes == (None, None) else " / ".join(map(_hours, minutes))

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


def _hours(minutes: int | None) -> str:
    return "–" if minutes is None else f"{minutes // 60}:{minutes % 60:02} h"
