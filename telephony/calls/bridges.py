"""The bridge in which the legs of a connection talk: joined, recorded, destroyed. Requested after the commit."""

from django.conf import settings
from django.db import transaction

from telephony.calls import lines, supervisors, switch_requests
from telephony.models import Connection, Leg
from telephony.verbs import recordings


def join(connection: Connection, *legs: Leg, is_repeated: bool = False, is_apart: bool = False) -> None:
    """Join legs in the bridge, recorded if calls are. `connection.join_count` includes this bridge already.

    A talk apart from the customer is not recorded, and no supervisor hears it.

    The switch refuses if a leg is gone. After the first request it records nothing then. A repeated request is refused
    because the call has ended since, and the first request may have recorded it: that recording stays expected.
    """
    record_as = recordings.expect(connection) if settings.RECORD_CALLS and not is_apart else ""
    channel_ids = [leg.channel_id for leg in legs]

    def request() -> None:
        with lines.alone(channel_ids):
            switch_requests.send_now(
                "join",
                connection.bridge_id,
                channel_ids,
                record_as=record_as,
                refused=None if is_repeated else lambda error: recordings.withdraw(record_as),
            )

    transaction.on_commit(request, robust=True)
    if not is_apart:
        supervisors.follow(connection, is_in_talk=True)


def destroy(connection: Connection) -> None:
    """Destroy the bridge of a call that goes on. A supervisor in it hears what the customer hears from now on."""
    destroy_left_over(connection.bridge_id)
    supervisors.follow(connection, is_in_talk=False)


def destroy_left_over(bridge_id: str) -> None:
    switch_requests.send("destroy_bridge", bridge_id)


def destroy_of_ended(connection: Connection) -> None:
    """Destroy the bridge of a call that has ended. This may take a second, as the recording is completed before."""

    def request() -> None:
        switch_requests.send_now("destroy_bridge", connection.bridge_id)

    transaction.on_commit(lambda: switch_requests.send_later(connection.pk, request), robust=True)
