"""The page of a ticket: the conversation, the properties, and the forms by which a person answers and edits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, actor_of, user_of
from callcentre.admin.base import REFUSALS
from callcentre.admin.history import in_words
from callcentre.admin.scope import scope_of
from callcentre.core.integers import integer_of
from telephony.models import Agent
from tickets.addresses import is_address
from tickets.admin import ticket_page_presence as presence
from tickets.admin.canned_replies import canned_replies_for
from tickets.admin.ticket_page_composer import ChangedMeanwhile, draft_of, forget_draft, seen_now, write
from tickets.admin.ticket_page_files import KeptFiles, keep_files
from tickets.admin.ticket_page_forms import ANSWER, COMMENT, REPLY, ComposerForm, PropertiesForm, statuses_for
from tickets.admin.ticket_page_sidebar import (
    OTHERS,
    Audience,
    answers_of,
    audience_of,
    bounced_among,
    connected_with,
    dues_of,
    history_of,
    others_of_customer,
)
from tickets.admin.ticket_page_thread import entry_of, thread_of
from tickets.models import BlockedSender, CustomField, Dispatch, Message, Source, Ticket, TicketStatus
from tickets.models.ticket import MARKETPLACES, REPLY_SOURCES
from tickets.verbs.automation import offered_macros, use_macro_of
from tickets.verbs.dispatches import resend
from tickets.verbs.notices import close_notices, follow_ticket, unfollow_ticket
from tickets.verbs.received_mails import block_sender
from tickets.verbs.tickets import edit_ticket

ICONS: dict[str, str] = {
    Source.EMAIL: "mail",
    Source.PHONE: "call",
    Source.SMS: "sms",
    Source.CHAT: "chat",
    Source.WWW: "language",
    Source.MARKETPLACE_MESSAGE: "storefront",
    Source.MARKETPLACE_DISPUTE: "gavel",
}
WRITTEN: dict[str, Any] = {
    REPLY: _("The reply is on its way."),
    ANSWER: _("The comment is there, and the customer counts as answered."),
    COMMENT: _("The comment is there."),
}
FOLLOWING = {"follow": follow_ticket, "unfollow": unfollow_ticket}
# New messages and changes that are shown to a person who wrote without having seen them.
SHOWN_MEANWHILE = 10


@dataclass
class TicketPage:
    """One request of a person for the page of a ticket."""

    admin: Admin
    request: HttpRequest
    ticket: Ticket

    @cached_property
    def agent(self) -> Agent | None:
        return Agent.objects.of_user(user_of(self.request))

    @cached_property
    def fields(self) -> list[CustomField]:
        return list(CustomField.objects.of(CustomField.Owner.TICKET))

    @cached_property
    def statuses(self) -> list[tuple[str, Any]]:
        return statuses_for(self.ticket)

    @cached_property
    def audience(self) -> Audience | None:
        return audience_of(self.ticket)

    @property
    def may_reply(self) -> bool:
        return self.agent is not None and (self.audience is not None or self.ticket.source in MARKETPLACES)

    @property
    def _usual_type(self) -> Message.BodyType:
        """The type of what the composer writes: a marketplace takes plain text only."""
        return Message.BodyType.PLAIN if self.ticket.source in MARKETPLACES else Message.BodyType.HTML

    @property
    def _pictures_url(self) -> str:
        """The address of the files, with the host: the content security policy of a frame needs it."""
        return self.request.build_absolute_uri(reverse("admin:tickets_ticket_file", args=["-"])).removesuffix("-")

    def answer(self) -> HttpResponse:
        """Do what the form of the page asks for, or show the page."""
        do = self.request.POST.get("do")
        is_edit = self.request.method == "POST" and do not in FOLLOWING
        if is_edit and not self.admin.has_change_permission(self.request, self.ticket):
            raise PermissionDenied
        match do:
            case "follow" | "unfollow":
                return self._follow(do)
            case "write" | "write_and_close":
                return self._write()
            case "canned":
                return self._insert_canned()
            case "edit":
                return self._edit()
            case "take":
                return self._take()
            case "send_again":
                return self._send_again()
            case "block":
                return self._block()
            case "macro":
                return self._use_macro()
        return self._show()

    def _redirect(self, **query: str) -> HttpResponse:
        """Redirect to the page, and keep the filters of the list for the way back."""
        if filters := self.request.GET.get("_changelist_filters"):
            query["_changelist_filters"] = filters
        return redirect(self.admin.url_of("change", self.ticket.pk) + (f"?{urlencode(query)}" if query else ""))

    # Show

    def _show(
        self,
        *,
        composer: ComposerForm | None = None,
        properties: PropertiesForm | None = None,
        kept: KeptFiles | None = None,
        meanwhile: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        admin, request, ticket = self.admin, self.request, self.ticket
        # Close first: what comes from now on may not be on the page.
        if self.agent:
            close_notices(self.agent, ticket=ticket)
        followers = [follower.agent for follower in ticket.followers.select_related("agent").order_by("agent__login")]
        # Read first: the page does not show anything newer.
        seen = seen_now(ticket)
        may_change = admin.has_change_permission(request, ticket) and ticket.merged_into_id is None
        others = others_of_customer(ticket, scope_of(request))
        context: dict[str, Any] = {
            "subtitle": ticket.subject,
            "ticket": ticket,
            "icon": ICONS.get(ticket.source, "confirmation_number"),
            "colour": ticket.status.meaning.colour,
            "thread": thread_of(
                ticket,
                before=integer_of(request.GET.get("before")),
                pictures=self._pictures_url,
                images_of=integer_of(request.GET.get("images")),
            ),
            "is_earlier": bool(request.GET.get("before")),
            "dues": dues_of(ticket),
            "answers": answers_of(ticket) if ticket.owes_response else "",
            "history": history_of(ticket, self.fields),
            "custom_values": [(field.name, in_words(ticket.custom_fields.get(str(field.pk)))) for field in self.fields],
            "others": others[:OTHERS],
            "has_more_others": len(others) > OTHERS,
            "connected": connected_with(ticket, scope_of(request)),
            "agent": self.agent,
            "followers": followers,
            "may_change": may_change,
            "macros": offered_macros(ticket, self.agent) if may_change else [],
            "may_block": may_block(request, ticket),
            "may_delete": admin.has_delete_permission(request, ticket),
            "visitors": presence.report(ticket.pk, user_of(request), is_writing=False),
            "presence_url": reverse("admin:tickets_ticket_presence", args=[ticket.pk]),
            "draft_url": reverse("admin:tickets_ticket_draft", args=[ticket.pk]),
            "presence_every": presence.EVERY_SECONDS,
            "seen": seen,
            "preserved": request.GET.get("_changelist_filters", ""),
            "kept": kept.files if kept else [],
            "meanwhile": meanwhile,
            "max_upload_mb": settings.MAX_UPLOAD_MB,
        }
        # The text of a refused form is shown again, also if the ticket was merged meanwhile.
        if may_change or composer:
            audience = self.audience
            initial = {
                "version": seen.version,
                "seen": seen.message,
                "seen_change": seen.change,
                "to": audience.to if audience else "",
                "cc": ", ".join(audience.others) if audience and request.GET.get("all") else "",
            }
            composer = composer or self._composer(initial=initial)
            written_to = ", ".join(filter(None, (composer["to"].value(), composer["cc"].value())))
            properties = properties or self._properties()
            context |= {
                "composer": composer,
                "draft": draft_of(ticket, user_of(request)),
                "properties": properties,
                "media": admin.media + properties.media,
                "may_reply": self.may_reply,
                "canned": canned_replies_for(ticket, self.agent, self._usual_type),
                "audience": audience,
                "bounced": bounced_among(written_to) if audience else [],
                "closed_status": _closed_status(composer),
            }
        return admin.page(request, "admin/tickets/ticket.html", ticket, title=f"#{ticket.pk}", **context)

    def _composer(
        self,
        data: Any = None,
        *,
        kept: Sequence[tuple[str, str]] = (),
        initial: Mapping[str, Any] | None = None,
    ) -> ComposerForm:
        """Build the composer. Only agents reply, and only to a marketplace or an address."""
        kinds = [*([REPLY] if self.may_reply else []), ANSWER, COMMENT]
        # What was written for other agents is neither sent nor counted by mistake.
        kind = REPLY if self.may_reply and self.ticket.source in REPLY_SOURCES else COMMENT
        usual = {"kind": kind, "take": self.ticket.agent_id is None and self.agent is not None}
        return ComposerForm(
            data,
            initial={**usual, **(initial or {})},
            prefix="m",
            kinds=kinds,
            statuses=self.statuses,
            is_html=self._usual_type == Message.BodyType.HTML,
            kept=kept,
        )

    def _properties(self, data: Any = None) -> PropertiesForm:
        sees_customers = self.request.user.has_perm("tickets.view_customer")
        scope = scope_of(self.request)
        chosen: dict[str, Any] = {"sees_customers": sees_customers, "scope": scope, "statuses": self.statuses}
        return PropertiesForm(self.ticket, self.fields, data, prefix="p", **chosen)

    # Write

    def _kept_files(self) -> KeptFiles:
        request = self.request
        return keep_files(user_of(request), request.POST.getlist("m-kept"), request.FILES.getlist("m-attached"))

    def _write(self) -> HttpResponse:
        request, kept, data = self.request, self._kept_files(), self.request.POST.copy()
        form = self._composer(data, kept=kept.choices)
        if data["do"] == "write_and_close":
            data["m-then"] = _closed_status(form)
        for fault in kept.faults:
            form.add_error("attached", fault)
        form.is_valid()
        values = form.cleaned_data
        if values.get("kind") == REPLY and self.audience and "to" in values and not values["to"]:
            form.add_error("to", _now("To whom?"))
        meanwhile = None
        if form.is_valid():
            try:
                if write(actor_of(request), self.agent, self.ticket, values, [file.token for file in kept.files]):
                    self.admin.message_user(request, WRITTEN[values["kind"]], messages.SUCCESS)
                else:
                    sentence = _now("This was sent already: it was not sent twice.")
                    self.admin.message_user(request, sentence, messages.INFO)
                forget_draft(self.ticket, user_of(request))
                return self._redirect(done="write")
            except ChangedMeanwhile:
                self.ticket = self.admin.row_or_404(request, str(self.ticket.pk), "view_or_change")
                del self.statuses
                meanwhile = self._changes_since(values)
                form = self._composer(self._data_marked_as_seen(), kept=kept.choices)
            except REFUSALS as refusal:
                self.admin.add_refusals(form, refusal)
        return self._show(composer=form, kept=kept, meanwhile=meanwhile)

    def _data_marked_as_seen(self) -> Any:
        """Return the input as if it had been written on the page of the ticket as it is now."""
        seen, data = seen_now(self.ticket), self.request.POST.copy()
        for name, value in (("version", seen.version), ("seen", seen.message), ("seen_change", seen.change)):
            data[f"m-{name}"] = str(value)
        return data

    def _changes_since(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the messages and changes that the person has not seen."""
        new = Message.objects.filter(ticket=self.ticket, pk__gt=values["seen"] or 0).select_related("agent", "dispatch")
        newest = new.prefetch_related("files").order_by("-id")[:SHOWN_MEANWHILE]
        return {
            "entries": [entry_of(message, pictures=self._pictures_url) for message in newest],
            "history": history_of(self.ticket, self.fields, after=values["seen_change"] or 0)[:SHOWN_MEANWHILE],
        }

    def _insert_canned(self) -> HttpResponse:
        """Append the first canned reply whose name has the words to the text, for browsers without scripts."""
        kept, data = self._kept_files(), self.request.POST.copy()
        wanted, body_type = data.get("canned", "").strip().lower(), data.get("m-body_type", Message.BodyType.PLAIN)
        replies = canned_replies_for(self.ticket, self.agent, body_type)
        found = [text for name, text in replies if wanted in name.lower()] if wanted else []
        data["m-body"] = "".join([data.get("m-body", ""), *found[:1]])
        return self._show(composer=self._composer(data, kept=kept.choices), kept=kept)

    # Edit

    def _edit(self) -> HttpResponse:
        form = self._properties(self.request.POST)
        if form.is_valid():
            try:
                if values := form.values():
                    edit_ticket(self.ticket, actor_of(self.request), **values)
                    self.admin.message_user(self.request, _now("The ticket is changed."), messages.SUCCESS)
                return self._redirect()
            except REFUSALS as refusal:
                self.admin.add_refusals(form, refusal)
        return self._show(properties=form)

    def _take(self) -> HttpResponse:
        if self.agent is None:
            raise PermissionDenied
        try:
            edit_ticket(self.ticket, actor_of(self.request), agent_login=self.agent.login)
            self.admin.message_user(self.request, _now("The ticket is yours."), messages.SUCCESS)
        except REFUSALS as refusal:
            self.admin.say_refused(self.request, refusal)
        return self._redirect()

    def _follow(self, do: str) -> HttpResponse:
        if self.agent is None:
            raise PermissionDenied
        try:
            FOLLOWING[do](self.ticket, self.agent, actor_of(self.request))
        except REFUSALS as refusal:
            self.admin.say_refused(self.request, refusal)
        return self._redirect()

    def _send_again(self) -> HttpResponse:
        pk = integer_of(self.request.POST.get("dispatch")) or 0
        dispatch = Dispatch.objects.select_related("message").filter(pk=pk, message__ticket=self.ticket).first()
        if dispatch is None:
            raise Http404
        try:
            resend(dispatch, actor_of(self.request))
            self.admin.message_user(self.request, _now("The message is sent again."), messages.SUCCESS)
        except REFUSALS as refusal:
            self.admin.say_refused(self.request, refusal)
        return self._redirect()

    def _use_macro(self) -> HttpResponse:
        request = self.request
        try:
            macro_id, login = integer_of(request.POST.get("macro")) or 0, self.agent.login if self.agent else ""
            after = integer_of(request.POST.get("seen_change")) or 0
            if use_macro_of(self.ticket, actor_of(request), macro_id=macro_id, agent_login=login, unless_after=after):
                self.admin.message_user(request, _now("The macro is done."), messages.SUCCESS)
            else:
                sentence = _now("You have used this macro already: it was not done twice.")
                self.admin.message_user(request, sentence, messages.INFO)
        except REFUSALS as refusal:
            self.admin.say_refused(request, refusal)
        return self._redirect()

    def _block(self) -> HttpResponse:
        if not may_block(self.request, self.ticket):
            raise PermissionDenied
        try:
            blocked, _is_new = block_sender(self.ticket.sender, actor_of(self.request))
            sentence = _now("%(sender)s is blocked: further mail is kept apart as spam.") % {"sender": blocked.entry}
            self.admin.message_user(self.request, sentence, messages.SUCCESS)
        except REFUSALS as refusal:
            self.admin.say_refused(self.request, refusal)
        return self._redirect()


def may_block(request: HttpRequest, ticket: Ticket) -> bool:
    """Return whether the person may block the sender of the ticket, who came by mail and is not blocked yet."""
    may = ticket.source == Source.EMAIL and request.user.has_perm("tickets.add_blockedsender")
    return may and is_address(ticket.sender) and not BlockedSender.objects.filter(entry=ticket.sender.lower()).exists()


def _closed_status(form: ComposerForm) -> str:
    """Return the choice of the button that closes the ticket: the first closed status, or "" if it is no choice."""
    closed = TicketStatus.objects.filter(kind=TicketStatus.Kind.CLOSED).order_by("order", "id").first()
    choice = f"s{closed.pk}" if closed else ""
    choices: Any = form.fields["then"]
    return choice if choice in dict(choices.choices) else ""
