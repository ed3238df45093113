"""The operations of the API that belong to webhooks, and a world for them."""

from tests.contract import Each, Operation, ours
from tests.webhooks.factories import EventFactory, WebhookFactory

WEBHOOK = {
    "id": int,
    "actions": [str],
    "subscription_url": str,
    "http_auth_user": str,
    "http_auth_password": str,
}
PAYLOAD_VALUE = frozenset({str, int, type(None)})
EVENT = {"id": int, "event_id": str, "action": str, "date": str, "payload": Each(PAYLOAD_VALUE)}
WEBHOOKS, WEBHOOKS_WRITE = "webhooks:read", "webhooks:write"
# A literal address, so that no name is looked up.
NEW_WEBHOOK = {"actions": ["OUTBOUND_CREATED"], "subscription_url": "https://[2606:4700::1111]/hook"}

OPERATIONS = [
    # INTERFACE 4.6
    Operation("POST", "/webhooks", WEBHOOKS_WRITE, 201, WEBHOOK, 3, NEW_WEBHOOK),
    Operation("GET", "/webhooks", WEBHOOKS, 200, [WEBHOOK], 2),
    Operation("DELETE", "/webhooks/77001", WEBHOOKS_WRITE, 204, None, 5, None, "/webhooks/999999999"),
    # DECISIONS 9: webhooks
    ours(
        "GET",
        "/webhooks/77001/secret",
        WEBHOOKS_WRITE,
        200,
        {"id": int, "secret": str},
        4,
        None,
        "/webhooks/999999999/secret",
    ),
    ours(
        "GET",
        "/webhooks/77001",
        WEBHOOKS,
        200,
        WEBHOOK | {"format": str, "active": bool, "disabled_because": str},
        2,
        None,
        "/webhooks/999999999",
    ),
    ours("POST", "/webhooks/77001/enable", WEBHOOKS_WRITE, 204, None, 5, None, "/webhooks/999999999/enable"),
    ours("POST", "/webhooks/77001/disable", WEBHOOKS_WRITE, 204, None, 5, None, "/webhooks/999999999/disable"),
    ours("POST", "/webhooks/77001/test", WEBHOOKS_WRITE, 204, None, 6, None, "/webhooks/999999999/test"),
    ours("GET", "/webhooks/actions", WEBHOOKS, 200, [{"action": str, "example": Each(PAYLOAD_VALUE | {float})}], 1),
    ours("GET", "/events", WEBHOOKS, 200, {"count": int, "result": [EVENT]}, 4),
]


def fill(size: int) -> None:
    EventFactory.create_batch(size)
    WebhookFactory.create_batch(size, actions=["OUTBOUND_CREATED", "OUTBOUND_RECORD_CREATED"])
    WebhookFactory(pk=77_001)
