"""Signed links with which customers rate replies. A link is the only permission that is needed."""

from django.conf import settings
from django.core import signing
from django.urls import reverse

from tickets.models.message import Message


def _signer() -> signing.Signer:
    return signing.Signer(salt="tickets.rating", sep=".")


def token_of(message: Message) -> str:
    return _signer().sign(str(message.pk))


def rating_url(message: Message) -> str:
    """Return the full address for a mail, or "" if PUBLIC_URL is not set."""
    if not settings.PUBLIC_URL:
        return ""
    return f"{settings.PUBLIC_URL}{reverse('rating', args=[token_of(message)])}"


def message_of(token: str) -> Message | None:
    try:
        pk = int(_signer().unsign(token))
    except (signing.BadSignature, ValueError):
        return None
    related = ("ticket__queue", "agent", "rating")
    return Message.objects.select_related(*related).filter(pk=pk, type=Message.Type.REPLY).first()
