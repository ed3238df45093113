"""Replies to marketplaces: each is one JSON request to the marketplace's endpoint, signed as webhooks are."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from callcentre.core.times import minute
from tickets.mail.send_results import Lost, Refused, Sent
from tickets.models import CustomField, Dispatch, Marketplace, custom_field
from webhooks.signing import sign
from webhooks.transport.sender import Outcome, Sender, encode

sender = Sender()
# Status codes that ask for the same request at a later time.
_LATER = (408, 423, 425, 429)


def send(dispatch: Dispatch, begin: Callable[[], None]) -> Sent:
    """Send the reply. Call `begin` before the request leaves. Raises Refused, Lost, and the exceptions of `begin`."""
    endpoint = Marketplace.objects.filter(source=dispatch.source, is_active=True).first()
    if endpoint is None:
        raise Refused(f"there is no active endpoint for {dispatch.source}", is_final=False)
    content_type, body = encode(payload(dispatch), "json")
    # The id is the same at every attempt, so that the receiver can detect a repetition.
    message_id, timestamp = f"message_{dispatch.message_id}", int(datetime.now(UTC).timestamp())
    headers = {
        "Content-Type": content_type,
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign([endpoint.secret], message_id, timestamp, body),
    }
    auth = (endpoint.http_auth_user, endpoint.http_auth_password) if endpoint.http_auth_user else None
    begin()
    _judge(sender.send(endpoint.url, headers, body, auth))
    return Sent(Dispatch.State.SENT)


def payload(dispatch: Dispatch) -> dict[str, Any]:
    message = dispatch.message
    ticket = message.ticket
    return {
        "ticket_id": str(ticket.pk),
        "message_id": message.pk,
        "source": dispatch.source,
        "from": ticket.sender,
        "subject": ticket.subject,
        "customer_id": ticket.customer_id,
        "user_login": message.agent.login if message.agent else "",
        "created_at": minute(message.created_at),
        "body": message.body,
        "attachments": [
            {"token": file.token, "filename": file.filename, "content_type": file.content_type, "size": file.size}
            for file in message.files.all()
        ],
        "custom_fields": custom_field.by_name(CustomField.Owner.TICKET, ticket.custom_fields),
    }


def _judge(outcome: Outcome) -> None:
    """Return if the marketplace has accepted the reply. Raises Refused or Lost."""
    if outcome.status is None:
        if outcome.has_begun:
            raise Lost(outcome.error)
        raise Refused(outcome.error, is_final=False)
    if 200 <= outcome.status < 300:
        return
    answer = outcome.answer.decode(errors="replace")
    reason = f"HTTP {outcome.status} {answer}".strip()
    is_final = 300 <= outcome.status < 500 and outcome.status not in _LATER
    raise Refused(reason, is_final=is_final, retry_after=outcome.retry_after or 0.0)
