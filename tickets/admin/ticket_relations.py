"""What joins tickets and parts them: merge, connect, split. Each on a page of its own, from the ticket's."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.translation import gettext as _now

from callcentre.admin import actor_of
from callcentre.admin.base import REFUSALS
from callcentre.core.integers import integer_of
from tickets import html
from tickets.admin.merge_confirmation import people_of
from tickets.admin.ticket_page_forms import OtherTicketForm
from tickets.admin.ticket_page_thread import author_of
from tickets.models import Message, Ticket
from tickets.verbs.merges import merge_tickets, split_ticket
from tickets.verbs.tickets import connect_tickets

# Messages among which those to be split off are chosen, the newest first.
SHOWN = 500


class TicketActions:
    """Pages of TicketAdmin beside the ticket's own."""

    def get_urls(self: Any) -> Any:
        view = self.admin_site.admin_view
        return [
            path("<int:ticket_id>/merge/", view(self.merge_view), name="tickets_ticket_merge"),
            path("<int:ticket_id>/connect/", view(self.connect_view), name="tickets_ticket_connect"),
            path("<int:ticket_id>/split/", view(self.split_view), name="tickets_ticket_split"),
            *super().get_urls(),  # type: ignore[misc]
        ]

    def _to_change(self: Any, request: HttpRequest, ticket_id: int) -> Ticket:
        ticket: Ticket = self.ticket_or_404(request, str(ticket_id))
        if not self.has_change_permission(request, ticket):
            raise PermissionDenied
        return ticket

    def merge_view(self: Any, request: HttpRequest, ticket_id: int) -> HttpResponse:
        intro = _now(
            "Its messages move to the other ticket; this one is closed, and later mail to it goes to the other."
        )
        return self._with_other(  # type: ignore[no-any-return]
            request,
            ticket_id,
            merge_tickets,
            title=_now("Merge into another ticket"),
            submit=_now("Merge"),
            intro=intro,
        )

    def connect_view(self: Any, request: HttpRequest, ticket_id: int) -> HttpResponse:
        intro = _now("Each of the two leads to the other then; neither changes.")
        return self._with_other(  # type: ignore[no-any-return]
            request,
            ticket_id,
            connect_tickets,
            title=_now("Link to another ticket"),
            submit=_now("Link"),
            intro=intro,
        )

    def _with_other(
        self: Any, request: HttpRequest, ticket_id: int, verb: Any, *, title: str, submit: str, intro: str
    ) -> HttpResponse:
        """Asks for a number, shows whose ticket that is, and does it once that was seen."""
        ticket = self._to_change(request, ticket_id)
        form = OtherTicketForm(ticket, request.POST or None)
        if other := form.other if form.is_valid() else None:
            number, people = str(other.pk), people_of((ticket, other)) if verb is merge_tickets else []
            if form.cleaned_data["shown"] == number:
                form = OtherTicketForm(ticket, request.POST, people=people)
                if form.is_valid():
                    try:
                        verb(ticket, other, actor_of(request))
                        sentence = _now("Done: #%(one)s and #%(other)s.") % {"one": ticket.pk, "other": other.pk}
                        self.message_user(request, sentence, messages.SUCCESS)
                        return redirect(self.url_of("change", other.pk if verb is merge_tickets else ticket.pk))
                    except REFUSALS as refusal:
                        for _field, sentence in self.refusals_of(refusal):
                            form.add_error("number", sentence)
            else:
                form = OtherTicketForm(ticket, initial={"number": number, "shown": number}, people=people)
            facts = {"number": other.pk, "subject": other.subject, "status": other.status}
            who = str(other.customer or other.sender_name or other.sender or "–")
            shown = _now("#%(number)s: %(subject)s. From: %(who)s. Status: %(status)s.") % {**facts, "who": who}
            intro = f"{shown} {intro}"
        return self.action_page(  # type: ignore[no-any-return]
            request,
            title=title,
            submit=submit if other else _now("Continue"),
            form=form,
            obj=ticket,
            intro=intro,
        )

    def split_view(self: Any, request: HttpRequest, ticket_id: int) -> HttpResponse:
        ticket = self._to_change(request, ticket_id)
        chosen = _ids(request.POST.getlist("messages"))
        subject = request.POST.get("subject", ticket.subject).strip()[:500]
        errors: list[str] = []
        if request.method == "POST":
            try:
                other = split_ticket(ticket, actor_of(request), chosen, subject)
                sentence = _now("The messages are a ticket of their own now: #%(number)s.") % {"number": other.pk}
                self.message_user(request, sentence, messages.SUCCESS)
                return redirect(self.url_of("change", other.pk))
            except REFUSALS as refusal:
                errors = [sentence for _field, sentence in self.refusals_of(refusal)]
        else:
            chosen = _ids(request.GET.getlist("message"))
        found = Message.objects.filter(ticket=ticket).select_related("agent").order_by("-created_at", "-id")[:SHOWN]
        rows = [
            {"pk": message.pk, "at": message.created_at, "author": author_of(message), "text": _beginning(message)}
            for message in found
        ]
        context = {
            **self.admin_site.each_context(request),
            "title": _now("Split off messages"),
            "subtitle": str(ticket),
            "opts": self.opts,
            "original": ticket,
            "rows": rows,
            "chosen": chosen,
            "subject": subject,
            "errors": errors,
            "media": self.media,
            "cancel_url": self.url_of("change", ticket.pk),
        }
        return TemplateResponse(request, "admin/tickets/ticket_split.html", context)


def _ids(texts: list[str]) -> list[int]:
    return [pk for pk in map(integer_of, texts) if pk is not None]


def _beginning(message: Message) -> str:
    text = message.comment or message.body or message.system_comment
    is_html = message.body_type == Message.BodyType.HTML
    # Of a long one the beginning is read only: tags are no longer than this.
    return html.as_text(text[:4000])[:160] if is_html else text[:160]
