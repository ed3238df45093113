"""The bridge in which the legs of a connection talk: joined, recorded, destroyed. Requested after the commit."""

from django.conf import settings

from telephony.calls import switch_requests
from telephony.models import Connection, Leg
from telephony.verbs import recordings


def join(connection: Connection, *legs: Leg) -> None:
    """Join legs in the bridge, recorded if calls are. `connection.join_count` includes this bridge already."""
    record_as = recordings.expect(connection) if settings.RECORD_CALLS else ""
    # The switch refuses if a leg is gone already. Then it records nothing.
    switch_requests.send(
        "join",
        connection.bridge_id,
        [leg.channel_id for leg in legs],
        record_as=record_as,
        refused=lambda error: recordings.withdraw(record_as),
    )


def destroy(bridge_id: str) -> None:
    switch_requests.send("destroy_bridge", bridge_id)
