"""The people who have a ticket open now. Their pages report to Redis; without Redis no names are shown."""

import time

import redis
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _now
from django.utils.translation import ngettext

from callcentre.admin import Admin, user_of
from callcentre.core import redis_client
from callcentre.core.integers import integer_of
from callcentre.models import User
from tickets.admin.ticket_page_composer import version_of
from tickets.models import Message

# A page reports three times before it is forgotten.
EVERY_SECONDS = 12
FORGOTTEN_AFTER_SECONDS = 3 * EVERY_SECONDS


def presence_view(admin: Admin, request: HttpRequest, ticket_id: int) -> HttpResponse:
    """Take the report of a page. Answer with the other people there and the news since the page was made."""
    if request.method != "POST":
        return HttpResponse(status=405)
    ticket, user = admin.row_or_404(request, str(ticket_id), "view_or_change"), user_of(request)
    if request.POST.get("leaving"):
        leave(ticket.pk, user)
        return HttpResponse(status=204)
    visitors = report(ticket.pk, user, is_writing=request.POST.get("writing") == "1")
    news = ""
    if version_of(ticket) != request.POST.get("version"):
        new = Message.objects.filter(ticket=ticket, pk__gt=integer_of(request.POST.get("seen")) or 0)
        count = new[:100].count()
        sentence = ngettext(
            "%(count)s new entry in the conversation.", "%(count)s new entries in the conversation.", count
        )
        news = sentence % {"count": count} if count else _now("The ticket was changed.")
    response = JsonResponse({"visitors": visitors, "news": news})
    response["Cache-Control"] = "no-store"
    return response


def report(ticket_id: int, user: User, *, is_writing: bool) -> list[str]:
    """Report that a user has the ticket open. Return a sentence about each other user who has, sorted by name."""
    now, mine = time.time(), f"{user.pk}"
    try:
        pipe = redis_client.client().pipeline(transaction=False)
        pipe.hset(_key(ticket_id), mine, f"{now:.0f} {int(is_writing)} {user.get_full_name() or user.get_username()}")
        pipe.expire(_key(ticket_id), FORGOTTEN_AFTER_SECONDS)
        pipe.hgetall(_key(ticket_id))
        known: dict[bytes, bytes] = pipe.execute()[-1]
    except redis.RedisError:
        return []
    others = []
    for user_id, value in known.items():
        at, is_writing_too, name = value.decode().split(" ", 2)
        if user_id.decode() != mine and now - int(at) < FORGOTTEN_AFTER_SECONDS:
            others.append((name, is_writing_too == "1"))
    writes, looks = _now("%(name)s is writing here."), _now("%(name)s is looking at this ticket.")
    return [(writes if is_writing_too else looks) % {"name": name} for name, is_writing_too in sorted(others)]


def leave(ticket_id: int, user: User) -> None:
    """Forget that the user has the ticket open."""
    try:
        redis_client.client().hdel(_key(ticket_id), f"{user.pk}")
    except redis.RedisError:
        return


def _key(ticket_id: int) -> str:
    return f"cc:ticket:{ticket_id}:open"
