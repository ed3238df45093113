"""The public page on which a customer rates a reply. A link in the mail leads to it."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import get_supported_language_variant
from django.utils.translation import gettext as _
from django.utils.translation.trans_real import parse_accept_lang_header
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from tickets.models import Message, Rating
from tickets.models.message import VALUES, may_be_rated
from tickets.rating_links import message_of
from tickets.verbs.messages import TooLate, rate

# The page loads nothing from elsewhere, is not stored, and sends no referrer.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}


# Without a session there is nothing that a foreign page could misuse.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def rate_reply(request: HttpRequest, token: str) -> HttpResponse:
    """Show the form (GET) or store the rating (POST). GET changes nothing, because mail scanners follow links."""
    message = message_of(token)
    with translation.override(_language(request, message)):
        if message is None:
            return _page(404, title=_("This link is not valid"), text=_("Perhaps a part of it was lost on its way."))
        rating = Rating.objects.filter(message=message).first()
        if request.method != "POST":
            return _form(message, rating) if may_be_rated(message, rating) else _too_late(rating)
        text = request.POST.get("value", "")
        if text not in {str(value) for value in VALUES}:
            return _form(message, rating, error=_("Please choose one of the answers."), status=400)
        try:
            rating = rate(message, int(text))
        except TooLate:
            return _too_late(rating)
        return _page(200, title=_("Thank you!"), text=_("We have received your answer."), may_change=True)


def _form(message: Message, rating: Rating | None, error: str = "", status: int = 200) -> HttpResponse:
    labels = (_("very dissatisfied"), _("dissatisfied"), _("neither"), _("satisfied"), _("very satisfied"))
    answers = [
        {"value": value, "label": label, "is_chosen": rating is not None and rating.value == value}
        for value, label in reversed(list(zip(VALUES, labels, strict=True)))
    ]
    queue = message.ticket.queue
    return _page(
        status,
        title=_("Are you satisfied with our answer?"),
        text=message.ticket.subject,
        answers=answers,
        error=error,
        sender=queue.sender_name or queue.name,
    )


def _too_late(rating: Rating | None) -> HttpResponse:
    text = _("Your rating stands.") if rating else _("The answer is too old to be rated.")
    return _page(410, title=_("Ratings are closed"), text=text)


def _page(status: int, **values: Any) -> HttpResponse:
    language = translation.get_language()
    page = render_to_string("tickets/rating.html", {"language": language, **values})
    return HttpResponse(page, status=status, headers={**_HEADERS, "Content-Language": language or ""})


def _language(request: HttpRequest, message: Message | None) -> str:
    """Return the browser's language if we have it, else the language of the queue."""
    for wanted, _weight in parse_accept_lang_header(request.headers.get("Accept-Language", "").lower()):
        try:
            return get_supported_language_variant(wanted)
        except LookupError:
            continue
    return message.ticket.queue.language if message else settings.LANGUAGE_CODE
