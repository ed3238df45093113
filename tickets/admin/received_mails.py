"""The list of received mail, and the actions that retry or discard mail in quarantine."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, ngettext_lazy, pgettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from callcentre.admin import (
    Admin,
    DeletableMixin,
    ReadOnlyAdmin,
    UncountedMixin,
    actor_of,
    column,
    cut,
    display,
    link,
    needs,
    never,
    page_action,
)
from callcentre.admin.base import MAX_SELECTED
from callcentre.admin.lists import ConditionFilter
from callcentre.admin.scope import RelatedDropdownFilter
from callcentre.core.audit import AuditAction, record_once
from tickets.models import BlockedSender, ReceivedMail
from tickets.verbs.received_mails import block_sender, discard_mail, retry_mail

Outcome = ReceivedMail.Outcome
COLOURS: dict[str, str] = {
    Outcome.RECEIVED: "info",
    Outcome.STORED: "success",
    Outcome.IGNORED: "warning",
    Outcome.QUARANTINED: "danger",
    Outcome.SPAM: "warning",
    Outcome.DELETED: "info",
}


class OutcomeFilter(ConditionFilter):
    title = _("outcome")
    parameter_name = "outcome"
    conditions = {outcome.value: (outcome.label, Q(outcome=outcome)) for outcome in Outcome}


class DiscardForm(forms.Form):
    reason = forms.CharField(
        label=_("Why it needs no message"),
        max_length=500,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True}),
    )


@admin.register(ReceivedMail)
class ReceivedMailAdmin(DeletableMixin, UncountedMixin, ReadOnlyAdmin):
    """Received mail: its outcome, and the reason if it did not become a message."""

    deletion_kind = "mail"
    has_own_history = True  # no edits: Django's history would be empty
    list_display = ("received_at", "sender_cut", "subject_cut", "queue", "state", "why_cut")
    list_display_links = ("received_at", "subject_cut")
    list_further = ("sender", "subject", "recipients", "size", "header_id", "attempt_count", "decided_by", "id")
    list_filter = (OutcomeFilter, ("queue", RelatedDropdownFilter))
    date_column = "received_at"
    list_select_related = ("queue",)
    search_fields = ("sender",)
    search_help_text = _("The beginning of the sender's address, or a Message-ID")
    actions = ("retry_selected", "discard_selected", "restore_selected", "block_selected")
    actions_detail = ("retry", "discard")
    has_decide_permission = needs("tickets.change_receivedmail")

    sender_cut = column(lambda mail: cut(mail.sender or "–"), description=_("from"))
    why_cut = column(lambda mail: cut(mail.why), description=_("reason"))
    message_id_shown = column(lambda mail: mail.header_id or "–", description="Message-ID")
    state = column(
        lambda mail: (mail.outcome, str(mail.get_outcome_display())), description=_("outcome"), label=COLOURS
    )
    why_shown = column(lambda mail: mail.why, description=_("reason"))
    size_shown = column(lambda mail: str(filesizeformat(mail.size)), description=_("size"))

    def get_urls(self) -> Any:
        return [
            self.url_to("<int:pk>/raw/", self.raw_view, "raw"),
            self.url_to("<int:pk>/restore/", self.restore, "restore"),
            self.url_to("<int:pk>/block/", self.block, "block"),
            *super().get_urls(),
        ]

    def get_fieldsets(self, request: HttpRequest, obj: ReceivedMail | None = None) -> Any:
        """Return the sections. The buttons are for people who may decide about mail."""
        buttons = ("spam_buttons",) if self.has_decide_permission(request) else ()
        return [
            (None, {"fields": ("subject_shown", "sender", "queue", "message_id_shown")}),
            (_("What became of it"), {"fields": ("outcome", "why_shown", "ticket", "decided_by", *buttons)}),
            (_("The mail as it came"), {"fields": ("received_at", "size_shown", "raw")}),
        ]

    def found(self, request: HttpRequest, rows: QuerySet[ReceivedMail], text: str) -> QuerySet[ReceivedMail]:
        term = text.strip(" <>")
        header_id = ReceivedMail.objects.filter(header_id=term).exclude(header_id="").values("pk")
        return rows.filter(pk__in=header_id) if header_id.exists() else rows.filter(sender__startswith=term)

    @display(description=pgettext_lazy("of a mail", "subject"))
    def subject_shown(self, mail: ReceivedMail) -> str:
        return mail.subject or _now("(no subject)")

    @display(description=pgettext_lazy("of a mail", "subject"))
    def subject_cut(self, mail: ReceivedMail) -> str:
        return cut(self.subject_shown(mail))

    @display(description=_("ticket"))
    def ticket(self, mail: ReceivedMail) -> str:
        if mail.message is None:
            return "–"
        ticket_id = mail.message.ticket_id
        return link(reverse("admin:tickets_ticket_change", args=[ticket_id]), f"#{ticket_id}")

    @display(description=_("content"))
    def raw(self, mail: ReceivedMail) -> str:
        if not mail.path:
            is_unread = mail.outcome in (Outcome.QUARANTINED, Outcome.IGNORED)
            return _now("It is in its mailbox only.") if is_unread else _now("It was deleted.")
        url = self.url_of("raw", mail.pk)
        return format_html('<a class="cc-link" href="{}" download>{}</a>', url, _now("Download"))

    def raw_view(self, request: HttpRequest, pk: int) -> FileResponse:
        """Send the mail as it came, for a mail program. The browser does not open it."""
        mail = self.get_queryset(request).filter(pk=pk).exclude(path="").first()
        if not self.has_view_permission(request, mail):
            raise PermissionDenied
        if mail is None:
            raise Http404
        try:
            content = mail.open_raw()
        except FileNotFoundError as error:
            raise Http404 from error
        record_once(actor_of(request), AuditAction.DOWNLOAD, mail)
        response = FileResponse(
            content, as_attachment=True, filename=f"{mail.pk}.eml", content_type="application/octet-stream"
        )
        response["X-Content-Type-Options"] = "nosniff"
        return response

    # Spam: one click each

    @display(description=_("spam"))
    def spam_buttons(self, mail: ReceivedMail) -> Any:
        """The buttons. They belong to the form of the page, which has the token that a request needs."""
        found = []
        if mail.outcome == Outcome.SPAM:
            found.append((self.url_of("restore", mail.pk), _now("This is no spam")))
        if mail.sender and not BlockedSender.objects.filter(entry=mail.sender.lower()).exists():
            found.append((self.url_of("block", mail.pk), _now("Block the sender")))
        button = '<button class="cc-link" formmethod="post" formaction="{}" formnovalidate>{}</button>'
        return format_html_join(" · ", button, found) if found else "–"

    def restore(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make a message of a mail that was kept apart."""
        return self._click(request, pk, self._restore)

    def block(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self._click(request, pk, self._block)

    def _click(self, request: HttpRequest, pk: int, apply: Callable[[HttpRequest, Any], None]) -> HttpResponse:
        if request.method != "POST":
            raise Http404
        mail = self.row_or_404(request, str(pk), "decide")
        apply(request, [mail])
        return redirect(self.url_of("change", mail.pk))

    def _apply(self, request: HttpRequest, mails: Any, verb: Callable[..., object], said: Any) -> None:
        """Apply a verb to each mail, and say to how many."""
        actor = actor_of(request)
        if count := self.apply_to_each(request, mails, lambda mail: verb(mail, actor)):
            self.say_done(request, said, count)

    def _restore(self, request: HttpRequest, mails: Any) -> None:
        said = ngettext_lazy(
            "%(count)s mail is restored: its ticket is there in a moment.",
            "%(count)s mails are restored: their tickets are there in a moment.",
            "count",
        )
        self._apply(request, mails, retry_mail, said)

    def _block(self, request: HttpRequest, mails: Any) -> None:
        said = ngettext_lazy(
            "%(count)s sender is blocked: further mail is kept apart as spam.",
            "%(count)s senders are blocked: further mail is kept apart as spam.",
            "count",
        )
        self._apply(request, mails, lambda mail, actor: block_sender(mail.sender, actor)[1], said)

    @admin.action(description=_("This is no spam"), permissions=["decide"])
    def restore_selected(self, request: HttpRequest, mails: QuerySet[ReceivedMail]) -> None:
        self._restore(request, mails[:MAX_SELECTED])

    @admin.action(description=_("Block the sender"), permissions=["decide"])
    def block_selected(self, request: HttpRequest, mails: QuerySet[ReceivedMail]) -> None:
        self._block(request, mails[:MAX_SELECTED])

    # Retry and discard

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        mail = self.get_object(request, object_id)
        is_open = mail is not None and mail.outcome == Outcome.QUARANTINED
        return super().get_actions_detail(request, object_id) if is_open else []

    def _retry(self, request: HttpRequest, mails: Any) -> None:
        said = ngettext_lazy(
            "%(count)s mail is tried again: what comes of it is seen here in a moment.",
            "%(count)s mails are tried again: what comes of them is seen here in a moment.",
            "count",
        )
        self._apply(request, mails, retry_mail, said)

    def _discard(self, request: HttpRequest, mails: Any, reason: str) -> None:
        said = ngettext_lazy("%(count)s mail discarded.", "%(count)s mails discarded.", "count")
        self._apply(request, mails, partial(discard_mail, reason=reason), said)

    @page_action(description=_("Try again"), url_path="retry", icon="replay", permissions=["decide"])
    def retry(self, request: HttpRequest, object_id: str) -> HttpResponse:
        mail = self.row_or_404(request, object_id, "decide")
        intro = _now("The mail is read once more, as if it had just come.")
        verb = partial(self._retry, request, [mail])
        return self.ask_and_do(request, mail, verb, title=_now("Try again"), intro=intro)

    @page_action(description=_("Discard"), url_path="discard", icon="block", permissions=["decide"])
    def discard(self, request: HttpRequest, object_id: str) -> HttpResponse:
        mail, form = self.row_or_404(request, object_id, "decide"), DiscardForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            self._discard(request, [mail], form.cleaned_data["reason"])
            return redirect(self.url_of("change", mail.pk))
        intro = _now("It becomes no message. It is kept, with your reason.")
        return self.action_page(
            request, title=_now("Discard"), submit=_now("Discard"), form=form, obj=mail, intro=intro
        )

    @admin.action(description=_("Try again"), permissions=["decide"])
    def retry_selected(self, request: HttpRequest, mails: QuerySet[ReceivedMail]) -> None:
        self._retry(request, mails[:MAX_SELECTED])

    @admin.action(description=_("Discard"), permissions=["decide"])
    def discard_selected(self, request: HttpRequest, mails: QuerySet[ReceivedMail]) -> HttpResponse | None:
        chosen = list(mails[:MAX_SELECTED])
        form = DiscardForm(request.POST if "apply" in request.POST else None)
        if form.is_valid():
            self._discard(request, chosen, form.cleaned_data["reason"])
            return None
        intro = ngettext("%(count)s mail becomes no message.", "%(count)s mails become no messages.", len(chosen))
        return self.action_page(
            request,
            title=_now("Discard"),
            submit=_now("Discard"),
            form=form,
            selected=chosen,
            intro=intro % {"count": len(chosen)},
        )


@admin.register(BlockedSender)
class BlockedSenderAdmin(Admin):
    """The addresses and domains whose mail is kept apart as spam."""

    list_display = ("entry", "blocked_by", "blocked_at")
    search_fields = ("entry",)
    search_help_text = _("A part of the address or domain")
    fields = ("entry",)
    has_change_permission = never  # a person blocks another one and deletes this one

    def save_model(self, request: HttpRequest, obj: BlockedSender, form: Any, change: bool) -> None:
        obj.pk = block_sender(obj.entry, actor_of(request))[0].pk
