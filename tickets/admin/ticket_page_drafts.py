"""The drafts of the page of a ticket: a text that a person has begun in one browser is there in another."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from callcentre.admin import Admin, user_of
from callcentre.models import User
from tickets.admin.ticket_page_forms import ANSWER, COMMENT, LONGEST_TEXT, REPLY
from tickets.models import Message, Ticket, TicketDraft


def draft_view(admin: Admin, request: HttpRequest, ticket_id: int) -> HttpResponse:
    """Keep the text that the composer has now, and answer with its version; without a text, forget the draft."""
    if request.method != "POST":
        return HttpResponse(status=405)
    ticket, user = admin.row_or_404(request, str(ticket_id), "change"), user_of(request)
    text, kind = request.POST.get("text", "").replace("\0", ""), request.POST.get("kind")
    if not text:
        forget(ticket, user)
    elif len(text) <= LONGEST_TEXT and kind in (REPLY, ANSWER, COMMENT):
        body_type = Message.BodyType.HTML if request.POST.get("html") == "1" else Message.BodyType.PLAIN
        values = {"text": text, "kind": kind, "body_type": body_type}
        draft, _is_new = TicketDraft.objects.update_or_create(ticket=ticket, user=user, defaults=values)
        return HttpResponse(draft.updated_at.isoformat())
    else:
        return HttpResponse(status=400)
    return HttpResponse(status=204)


def draft_of(ticket: Ticket, user: User) -> dict[str, Any] | None:
    """Return the draft as the script of the page reads it, with its version."""
    draft = TicketDraft.objects.filter(ticket=ticket, user=user).first()
    if draft is None:
        return None
    is_html = draft.body_type == Message.BodyType.HTML
    return {"text": draft.text, "kind": draft.kind, "html": is_html, "at": draft.updated_at.isoformat()}


def forget(ticket: Ticket, user: User) -> None:
    TicketDraft.objects.filter(ticket=ticket, user=user).delete()
