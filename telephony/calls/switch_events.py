"""Events of the switch, handled under the lock of their call. A repeated or late event changes nothing.

The end of a leg that we asked to hang up has no further consequences: the code that asked has dealt with them.
"""

from datetime import datetime

from django.db import transaction
from django.utils import timezone
from prometheus_client import Histogram

from callcentre.core.changes import store
from callcentre.core.statements import row_of
from telephony import call_clock
from telephony.calls import (
    browser_phones,
    callbacks,
    caller_steps,
    campaign_hooks,
    dialler_calls,
    inbound,
    legs,
    line_events,
    placement,
    supervision,
    switch_requests,
)
from telephony.channels import connection_of, line_of, supervised_by
from telephony.models import Connection, Leg
from telephony.switch import base
from telephony.verbs import recordings

Role = Leg.Role

# Of an answered call with an agent on a standing line: until both are joined.
answer_seconds = Histogram(
    "callcentre_answer_seconds",
    "From the answer of a phone until the switch has carried out the next step, the join or the call of the customer",
    buckets=(0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2),
)

# This changes one row only, so it needs no lock of the call.
_RINGING = """
UPDATE telephony_leg SET state = 'ringing', ringing_at = %s WHERE channel_id = %s AND state = 'asked'
RETURNING hangup_asked_at IS NOT NULL
"""


def handle(event: base.Event) -> None:
    match event:
        case base.Ringing() | base.Up() | base.Ended() | base.Played() if line_of(event.channel_id) is not None:
            _handle_of_line(event)
        case base.Ringing() | base.Up() | base.Ended() if supervised_by(event.channel_id) is not None:
            _handle_of_supervisor(event)
        case base.Ringing(channel_id, at):
            ringing(channel_id, at)
        case base.Up(channel_id, at):
            up(channel_id, at)
            answer_seconds.observe((timezone.now() - at).total_seconds())
        case base.Ended(channel_id, at, cause, tech_cause):
            ended(channel_id, at, cause, tech_cause)
        case base.Arrived():
            inbound.arrived(event)
        case base.Detected() | base.Played() | base.KeyPressed():
            _handle_of_customer(event)
        case base.Unregistered() | base.PhoneChanged():
            _handle_of_phone(event)
        case base.RecordingFinished():
            recordings.finish(event.name, is_failed=event.is_failed)
            caller_steps.message_over(event.name)


def _handle_of_customer(event: base.Detected | base.Played | base.KeyPressed) -> None:
    match event:
        case base.Detected():
            dialler_calls.detected(event)
        case base.Played() if connection_of(event.channel_id) is not None:
            dialler_calls.played(event)
        case base.Played():
            caller_steps.played(event)
        case base.KeyPressed():
            if not caller_steps.pressed(event):
                callbacks.key_pressed(event)


def _handle_of_phone(event: base.Unregistered | base.PhoneChanged) -> None:
    match event:
        case base.Unregistered(number, at):
            line_events.hang_up_lost(number, at)
            _end_of_window(number, at)
        case base.PhoneChanged(number, at, is_online):
            browser_phones.changed(number, at, is_online=is_online)


def _end_of_window(number: str, at: datetime) -> None:
    """End the legs of a phone in a browser whose window is gone, before the switch misses its packets."""
    open_ones = Leg.objects.filter(ended_at=None, hangup_asked_at=None, asked_at__lt=at)
    of_window = open_ones.filter(agent__number=number, agent__uses_browser_phone=True)
    for channel_id in list(of_window.values_list("channel_id", flat=True)):
        ended(channel_id, at, legs.NO_MEDIA)
        switch_requests.hang_up(channel_id)


def _handle_of_line(event: base.Ringing | base.Up | base.Ended | base.Played) -> None:
    match event:
        case base.Ringing(channel_id):
            line_events.ringing(channel_id)
        case base.Up(channel_id, at):
            line_events.up(channel_id, at)
        case base.Ended(channel_id, at, cause, tech_cause):
            line_events.ended(channel_id, at, cause, tech_cause)
        case base.Played(channel_id, at):
            line_events.tone_over(channel_id, at)


def _handle_of_supervisor(event: base.Ringing | base.Up | base.Ended) -> None:
    match event:
        case base.Up(channel_id, at):
            supervision.up(channel_id, at)
        case base.Ended(channel_id, at, cause, tech_cause):
            # The phone of a supervisor who has taken the call over is a leg.
            if not supervision.ended(channel_id, at, cause):
                ended(channel_id, at, cause, tech_cause)


def ringing(channel_id: str, at: datetime) -> None:
    connection_id = connection_of(channel_id)
    at = call_clock.on_call(connection_id, at) if connection_id else at
    row = row_of(_RINGING, [at, channel_id])
    if row and row[0]:
        switch_requests.hang_up(channel_id)


@transaction.atomic
def up(channel_id: str, at: datetime) -> None:
    if (found := legs.lock_by_channel(channel_id)) is None:
        return
    connection, leg = found
    if leg.state == Leg.State.UP:
        return
    if leg.state == Leg.State.ENDED:
        # The leg was given up as lost before the switch got the request to call.
        switch_requests.hang_up(channel_id)
        return
    heard_at, at = call_clock.on_call(connection.pk, at), legs.instant(connection, at)
    store(leg, state=Leg.State.UP, up_at=at)
    if leg.hangup_asked_at or connection.state == Connection.State.ENDED:
        # We asked to hang up before the phone was picked up.
        legs.hang_up(leg, at)
        if leg.role == Role.CUSTOMER and connection.state == Connection.State.ENDED:
            campaign_hooks.of(connection).answered_late(connection, heard_at)
    elif leg.role == Role.CUSTOMER:
        placement.customer_up(connection, leg, at, heard_at)
    else:
        line_events.picked_up(connection, leg, at)


@transaction.atomic
def ended(channel_id: str, at: datetime, cause: int | None, tech_cause: str = "", cause_text: str = "") -> None:
    """End the leg of a channel that is gone. The cause is None if it is unknown, as of a lost leg."""
    if (found := legs.lock_by_channel(channel_id)) is None:
        return
    connection, leg = found
    if leg.ended_at:
        return
    at = legs.instant(connection, at)
    legs.mark_ended(leg, at, cause, tech_cause, cause_text)
    if leg.hangup_asked_at or connection.state == Connection.State.ENDED:
        return
    if leg.role != Role.CUSTOMER:
        line_events.hung_up(connection, leg, at)
    elif connection.waiting_since:  # it came in for a queue or was transferred to one
        inbound.customer_ended(connection, leg, at)
    else:
        placement.customer_ended(connection, leg, at)


def refused_legs() -> list[tuple[int, str]]:
    """Return connection and channel of each leg that the switch has refused and that has not been ended yet."""
    refused = Leg.objects.filter(state=Leg.State.REFUSED, ended_at=None).order_by("id")
    return list(refused.values_list("connection_id", "channel_id"))


def end_refused(channel_id: str) -> None:
    """End a leg that the switch has refused, with the cause and the text of its row."""
    cause, text = Leg.objects.values_list("cause", "cause_text").get(channel_id=channel_id)
    ended(channel_id, call_clock.now(), cause, cause_text=text)
