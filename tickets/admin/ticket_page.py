"""The page of a ticket: the conversation, what belongs to it, and what people do there."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _now
from django.utils.translation import ngettext

from callcentre.admin import actor_of
from callcentre.admin.base import REFUSALS, with_images_from_elsewhere
from callcentre.core.integers import integer_of
from callcentre.models import User
from telephony.models import Agent
from tickets.admin import ticket_page_files as files
from tickets.admin import ticket_page_presence as presence
from tickets.admin.ticket_page_composer import ChangedMeanwhile, seen_now, version_of, write
from tickets.admin.ticket_page_forms import COMMENT, REPLY, ComposerForm, PropertiesForm, statuses_for
from tickets.admin.ticket_page_sidebar import (
    OTHERS,
    audience_of,
    canned_replies_for,
    connected_with,
    dues_of,
    history_of,
    others_of_customer,
)
from tickets.admin.ticket_page_thread import entry_of, thread_of
from tickets.models import CustomField, Dispatch, Message, Source, Ticket, TicketStatus
from tickets.models.ticket import MARKETPLACES, REPLY_SOURCES
from tickets.verbs.dispatches import resend
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
RELATED = ("queue", "status", "substatus", "category", "agent", "customer__company", "merged_into")
# New messages and changes that are shown to somebody who wrote without having seen them.
SHOWN_MEANWHILE = 10

STATUS_COLOURS: dict[str, str] = {
    TicketStatus.Kind.NEW: "danger",
    TicketStatus.Kind.IN_PROGRESS: "warning",
    TicketStatus.Kind.WAITING_FOR_CUSTOMER: "info",
    TicketStatus.Kind.POSTPONED: "info",
    TicketStatus.Kind.CLOSED: "success",
    TicketStatus.Kind.MERGED: "success",
}


class TicketPage:
    """The page of one ticket, of TicketAdmin."""

    def get_urls(self: Any) -> Any:
        view = self.admin_site.admin_view
        return [
            path("file/<str:token>", view(self.file_view), name="tickets_ticket_file"),
            path("<int:ticket_id>/presence", view(self.presence_view), name="tickets_ticket_presence"),
            *super().get_urls(),  # type: ignore[misc]
        ]

    def change_view(
        self: Any,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        ticket = self.ticket_or_404(request, unquote(object_id))
        if request.method != "POST":
            return self._page(request, ticket)  # type: ignore[no-any-return]
        if not self.has_change_permission(request, ticket):
            raise PermissionDenied
        match request.POST.get("do"):
            case "write" | "write_and_close":
                return self._write(request, ticket)  # type: ignore[no-any-return]
            case "canned":
                return self._insert_canned(request, ticket)  # type: ignore[no-any-return]
            case "edit":
                return self._edit(request, ticket)  # type: ignore[no-any-return]
            case "take":
                return self._take(request, ticket)  # type: ignore[no-any-return]
            case "send_again":
                return self._send_again(request, ticket)  # type: ignore[no-any-return]
        return self._page(request, ticket)  # type: ignore[no-any-return]

    def ticket_or_404(self: Any, request: HttpRequest, object_id: str) -> Ticket:
        """Whoever may see tickets sees all of them."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        pk = integer_of(object_id)
        ticket = None if pk is None else Ticket.objects.select_related(*RELATED).filter(pk=pk).first()
        if ticket is None:
            raise Http404
        return ticket

    def back_to(self: Any, request: HttpRequest, ticket: Ticket, **query: str) -> HttpResponse:
        """The page again, with the way back to the list as it was."""
        if filters := request.GET.get("_changelist_filters"):
            query["_changelist_filters"] = filters
        return redirect(self.url_of("change", ticket.pk) + (f"?{urlencode(query)}" if query else ""))

    # What is shown

    @method_decorator(with_images_from_elsewhere)
    def _page(
        self: Any,
        request: HttpRequest,
        ticket: Ticket,
        *,
        composer: ComposerForm | None = None,
        properties: PropertiesForm | None = None,
        kept: files.Kept | None = None,
        meanwhile: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        # First: what comes from now on has not been seen.
        seen = seen_now(ticket)
        fields = list(CustomField.objects.of(CustomField.Owner.TICKET))
        agent = Agent.objects.of_user(user_of(request))
        may_change = self.has_change_permission(request, ticket) and ticket.merged_into_id is None
        thread = thread_of(
            ticket,
            before=integer_of(request.GET.get("before")),
            pictures=self._pictures(request),
            images_of=integer_of(request.GET.get("images")),
        )
        others = others_of_customer(ticket)
        context = {
            **self.admin_site.each_context(request),
            "title": f"#{ticket.pk}",
            "subtitle": ticket.subject,
            "opts": self.opts,
            "original": ticket,
            "ticket": ticket,
            "icon": ICONS.get(ticket.source, "confirmation_number"),
            "colour": STATUS_COLOURS.get(ticket.status.kind, "info"),
            "thread": thread,
            "is_earlier": bool(request.GET.get("before")),
            "dues": dues_of(ticket),
            "history": history_of(ticket, fields),
            "custom_values": [(field.name, ticket.custom_fields.get(str(field.pk), "")) for field in fields],
            "others": others[:OTHERS],
            "has_more_others": len(others) > OTHERS,
            "connected": connected_with(ticket),
            "agent": agent,
            "may_change": may_change,
            "may_delete": self.has_delete_permission(request, ticket),
            "visitors": [sentence_of(one) for one in presence.tell(ticket.pk, user_of(request), is_writing=False)],
            "presence_url": reverse("admin:tickets_ticket_presence", args=[ticket.pk]),
            "presence_every": presence.EVERY_SECONDS,
            "seen": seen,
            "preserved": request.GET.get("_changelist_filters", ""),
            "kept": kept.files if kept else [],
            "meanwhile": meanwhile,
            "media": self.media,
            "max_upload_mb": settings.MAX_UPLOAD_MB,
        }
        # What was typed is shown again, also where the ticket was merged meanwhile.
        if may_change or composer:
            audience = audience_of(ticket)
            context["composer"] = composer or self._composer(
                request,
                ticket,
                agent,
                initial={
                    "version": seen.version,
                    "seen": seen.message,
                    "seen_change": seen.change,
                    "to": audience.to,
                    "cc": ", ".join(audience.others) if request.GET.get("all") else "",
                },
            )
            context["properties"] = properties or _properties(request, ticket, fields)
            context["media"] = self.media + context["properties"].media
            context["canned"] = [
                (canned.pk, canned.name, canned.text_for(ticket, agent)) for canned in canned_replies_for(ticket)
            ]
            context["audience"] = audience
            context["closed_status"] = _closed_status(context["composer"])
        return TemplateResponse(request, "admin/tickets/ticket.html", context)

    def _pictures(self: Any, request: HttpRequest) -> str:
        """The address under which files are: with the host, as a frame's policy wants it."""
        return request.build_absolute_uri(reverse("admin:tickets_ticket_file", args=["-"])).removesuffix("-")

    def _composer(
        self: Any,
        request: HttpRequest,
        ticket: Ticket,
        agent: Agent | None,
        data: Any = None,
        *,
        kept: Sequence[tuple[str, str]] = (),
        initial: Mapping[str, Any] | None = None,
    ) -> ComposerForm:
        """Replies are for agents, by ways that lead back to the customer."""
        kinds = [REPLY, COMMENT] if agent and ticket.source in REPLY_SOURCES else [COMMENT]
        usual = {"kind": kinds[0], "take": ticket.agent_id is None and agent is not None}
        return ComposerForm(
            data,
            initial={**usual, **(initial or {})},
            prefix="m",
            kinds=kinds,
            statuses=statuses_for(ticket),
            is_html=ticket.source not in MARKETPLACES,
            kept=kept,
        )

    # Writing

    def _write(self: Any, request: HttpRequest, ticket: Ticket) -> HttpResponse:
        agent = Agent.objects.of_user(user_of(request))
        kept = files.keep(user_of(request), request.POST.getlist("m-kept"), request.FILES.getlist("m-attached"))
        form = self._composer(request, ticket, agent, request.POST, kept=kept.choices)
        if request.POST["do"] == "write_and_close":
            form.data = form.data.copy()
            form.data["m-then"] = _closed_status(form)
        for fault in kept.faults:
            form.add_error("attached", fault)
        form.is_valid()
        values = form.cleaned_data
        if values.get("kind") == REPLY and ticket.source == Source.EMAIL and "to" in values and not values["to"]:
            form.add_error("to", _now("To whom?"))
        meanwhile = None
        if form.is_valid():
            try:
                if write(actor_of(request), agent, ticket, values, [file.token for file in kept.files]):
                    self.message_user(request, _said(values["kind"]), messages.SUCCESS)
                else:
                    self.message_user(request, _now("This was sent already: it was not sent twice."), messages.INFO)
                return self.back_to(request, ticket, done="write")  # type: ignore[no-any-return]
            except ChangedMeanwhile:
                ticket = self.ticket_or_404(request, str(ticket.pk))
                meanwhile = self._meanwhile(request, ticket, values)
                form = self._seen_anew(request, ticket, agent, kept)
            except REFUSALS as refusal:
                for path_of_fault, sentence in self.refusals_of(refusal):
                    name = path_of_fault.partition(".")[0]
                    own = self.fault_fields.get(name, name)
                    form.add_error(own if own in form.fields else None, sentence)
        return self._page(request, ticket, composer=form, kept=kept, meanwhile=meanwhile)  # type: ignore[no-any-return]

    def _seen_anew(
        self: Any, request: HttpRequest, ticket: Ticket, agent: Agent | None, kept: files.Kept
    ) -> ComposerForm:
        """The same text in a form of the ticket as it is now."""
        seen, data = seen_now(ticket), request.POST.copy()
        for name, value in (("version", seen.version), ("seen", seen.message), ("seen_change", seen.change)):
            data[f"m-{name}"] = str(value)
        return self._composer(request, ticket, agent, data, kept=kept.choices)  # type: ignore[no-any-return]

    def _meanwhile(self: Any, request: HttpRequest, ticket: Ticket, values: Mapping[str, Any]) -> dict[str, Any]:
        new = Message.objects.filter(ticket=ticket, pk__gt=values["seen"] or 0).select_related("agent", "dispatch")
        fields = list(CustomField.objects.of(CustomField.Owner.TICKET))
        pictures = self._pictures(request)
        return {
            "entries": [
                entry_of(message, pictures=pictures)
                for message in new.prefetch_related("files").order_by("-id")[:SHOWN_MEANWHILE]
            ],
            "history": history_of(ticket, fields, after=values["seen_change"] or 0)[:SHOWN_MEANWHILE],
        }

    def _insert_canned(self: Any, request: HttpRequest, ticket: Ticket) -> HttpResponse:
        """For browsers without scripts: the text with the canned reply after it."""
        agent = Agent.objects.of_user(user_of(request))
        kept = files.keep(user_of(request), request.POST.getlist("m-kept"), request.FILES.getlist("m-attached"))
        data = request.POST.copy()
        body, body_type = data.get("m-body", ""), data.get("m-body_type", Message.BodyType.PLAIN)
        for canned in canned_replies_for(ticket):
            if str(canned.pk) == data.get("canned"):
                data["m-body"] = f"{body}{canned.text_for(ticket, agent, body_type)}"
        form = self._composer(request, ticket, agent, data, kept=kept.choices)
        return self._page(request, ticket, composer=form, kept=kept)  # type: ignore[no-any-return]

    # What the ticket has

    def _edit(self: Any, request: HttpRequest, ticket: Ticket) -> HttpResponse:
        fields = list(CustomField.objects.of(CustomField.Owner.TICKET))
        form = _properties(request, ticket, fields, request.POST)
        if form.is_valid():
            try:
                if values := form.values():
                    edit_ticket(ticket, actor_of(request), **values)
                    self.message_user(request, _now("The ticket is changed."), messages.SUCCESS)
                return self.back_to(request, ticket)  # type: ignore[no-any-return]
            except REFUSALS as refusal:
                names_of = form.fault_fields()
                for name, sentence in self.refusals_of(refusal):
                    own = names_of.get(name, name)
                    form.add_error(own if own in form.fields else None, sentence)
        return self._page(request, ticket, properties=form)  # type: ignore[no-any-return]

    def _take(self: Any, request: HttpRequest, ticket: Ticket) -> HttpResponse:
        if (agent := Agent.objects.of_user(user_of(request))) is None:
            raise PermissionDenied
        try:
            edit_ticket(ticket, actor_of(request), agent_login=agent.login)
            self.message_user(request, _now("The ticket is yours."), messages.SUCCESS)
        except REFUSALS as refusal:
            self.say_refused(request, refusal)
        return self.back_to(request, ticket)  # type: ignore[no-any-return]

    def _send_again(self: Any, request: HttpRequest, ticket: Ticket) -> HttpResponse:
        pk = integer_of(request.POST.get("dispatch"))
        found = Dispatch.objects.select_related("message").filter(pk=pk or 0, message__ticket=ticket)
        dispatch = found.first()
        if dispatch is None:
            raise Http404
        try:
            resend(dispatch, actor_of(request))
            self.message_user(request, _now("The message is sent again."), messages.SUCCESS)
        except REFUSALS as refusal:
            self.say_refused(request, refusal)
        return self.back_to(request, ticket)  # type: ignore[no-any-return]

    # What the page asks for by itself

    def presence_view(self: Any, request: HttpRequest, ticket_id: int) -> HttpResponse:
        """Who else has the ticket open, and what has come since the page was made."""
        if request.method != "POST":
            return HttpResponse(status=405)
        ticket = self.ticket_or_404(request, str(ticket_id))
        if request.POST.get("leaving"):
            presence.leave(ticket.pk, user_of(request))
            return HttpResponse(status=204)
        visitors = presence.tell(ticket.pk, user_of(request), is_writing=request.POST.get("writing") == "1")
        news = ""
        if version_of(ticket) != request.POST.get("version"):
            new = Message.objects.filter(ticket=ticket, pk__gt=integer_of(request.POST.get("seen")) or 0)
            count = new[:100].count()
            sentence = ngettext(
                "%(count)s new entry in the conversation.", "%(count)s new entries in the conversation.", count
            )
            news = sentence % {"count": count} if count else _now("Somebody has changed the ticket.")
        response = JsonResponse({"visitors": [sentence_of(visitor) for visitor in visitors], "news": news})
        response["Cache-Control"] = "no-store"
        return response

    def file_view(self: Any, request: HttpRequest, token: str) -> FileResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return files.download(user_of(request), token, inline=bool(request.GET.get("inline")))


def user_of(request: HttpRequest) -> User:
    """Whoever is here has logged in."""
    return cast("User", request.user)


def _properties(
    request: HttpRequest, ticket: Ticket, fields: Sequence[CustomField], data: Any = None
) -> PropertiesForm:
    sees_customers = user_of(request).has_perm("tickets.view_customer")
    return PropertiesForm(ticket, fields, data, prefix="p", sees_customers=sees_customers)


def sentence_of(visitor: presence.Visitor) -> str:
    if visitor.is_writing:
        return _now("%(name)s is writing here.") % {"name": visitor.name}
    return _now("%(name)s is looking at this ticket.") % {"name": visitor.name}


def _said(kind: str) -> str:
    return _now("The comment is there.") if kind == COMMENT else _now("The reply is on its way.")


def _closed_status(form: ComposerForm) -> str:
    """The choice that "and close" makes: the first status of that kind."""
    closed = TicketStatus.objects.filter(kind=TicketStatus.Kind.CLOSED).order_by("order", "id").first()
    choice = f"s{closed.pk}" if closed else ""
    choices: Any = form.fields["then"]
    return choice if choice in dict(choices.choices) else ""
