"""Rows against channels: what happened while nobody listened, and what was wanted and never said.

The switch tells nothing twice, a process may die between its commit and its command, and a command may get no answer.
So from time to time, and whenever the stream of events begins anew, open legs are compared with the channels that the
switch lists. A leg that is missing twice, some seconds apart, is over: once might be news that is still on its way. A
caller in our application who has no leg is let in, and a bridge whose connection is over is taken away.
"""

import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection as database
from django.db import transaction
from django.db.models import Exists, OuterRef

from telephony import call_clock
from telephony.calls import bridges, legs, presumed_ends, switch_events, switch_requests
from telephony.channels import connection_of, connection_of_bridge
from telephony.models import Connection, Leg
from telephony.switch.base import Arrived, Channel, Missed, Switch, SwitchError

logger = logging.getLogger(__name__)

# A leg that was asked for is on its way to the switch for so long at most; a wish to hang up is done by then.
GRACE_SECONDS = 10.0

Role, State = Leg.Role, Connection.State


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be done with one connection; 0 for a channel that belongs to none."""

    connection_id: int
    act: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look has found: callers who have no leg yet, or were missed, and what is to be done with connections."""

    callers: list[Arrived | Missed]
    findings: list[Finding]


class Comparison:
    """Remembers what was missing the last time, since when at the latest, and when each channel was listed last."""

    def __init__(self) -> None:
        self._missing: dict[str, datetime] = {}
        self._listed_at: dict[str, datetime] = {}

    @property
    def is_inconclusive(self) -> bool:
        """Something was missing: another look will tell."""
        return bool(self._missing)

    def compare(self, switch: Switch, silent_since: datetime | None = None) -> Seen:
        """Compare. The legs are read before the channels, so that none of them is too young to be listed.

        `silent_since` is when the switch was heard last before the present stream of its events.
        """
        now = call_clock.now()
        rows = {leg.channel_id: leg for leg in Leg.objects.filter(ended_at=None).order_by("id")}
        channels = {channel.id: channel for channel in switch.channels()}
        bridges = switch.bridges()
        findings: list[Finding] = []
        lost: dict[int, list[str]] = defaultdict(list)
        missing: dict[str, datetime] = {}
        for channel_id, leg in rows.items():
            channel = channels.get(channel_id)
            if leg.state == Leg.State.REFUSED:
                continue
            if channel is None:
                if leg.state == Leg.State.ASKED and leg.asked_at > now - timedelta(seconds=GRACE_SECONDS):
                    continue
                missing[channel_id] = self._missing.get(channel_id) or self._gone_at(leg, now, silent_since)
                if channel_id in self._missing:
                    lost[leg.connection_id].append(channel_id)
            elif leg.hangup_asked_at:
                findings.append(Finding(leg.connection_id, _hanging_up(channel_id)))
            elif channel.is_up and leg.state != Leg.State.UP:
                findings.append(Finding(leg.connection_id, _picked_up(channel_id, now)))
            elif channel.is_ringing and leg.state == Leg.State.ASKED:
                findings.append(Finding(leg.connection_id, _ringing(channel_id, now)))
        for pk, channel_ids in lost.items():
            gone_at = min(missing[channel_id] for channel_id in channel_ids)
            findings.append(Finding(pk, _losing(pk, channel_ids, gone_at, now)))
        strangers = [channel for channel in channels.values() if channel.id not in rows]
        callers, left_over = _sorted(strangers, now)
        findings += [Finding(0, _hanging_up(channel_id)) for channel_id in left_over]
        findings += [Finding(pk, _destroying(bridge_id)) for pk, bridge_id in _bridges_left_over(bridges)]
        self._missing, self._listed_at = missing, dict.fromkeys(channels, now)
        return Seen([*callers, *_missed(switch)], findings)

    def _gone_at(self, leg: Leg, now: datetime, silent_since: datetime | None) -> datetime:
        """Return when a missing leg ended at the latest. The end was told, unless the switch was not heard then."""
        signs = (leg.asked_at, leg.ringing_at, leg.up_at, self._listed_at.get(leg.channel_id))
        if silent_since is None or any(sign and sign > silent_since for sign in signs):
            return now
        return silent_since


def _sorted(strangers: list[Channel], now: datetime) -> tuple[list[Arrived], list[str]]:
    """Return, of channels without an open leg, the callers who never had one, and the channels whose leg is over."""
    ours = [channel for channel in strangers if connection_of(channel.id) is not None or channel.caller is not None]
    if not ours:
        return [], []
    legs_of_ours = Leg.objects.filter(channel_id__in=[channel.id for channel in ours])
    is_over = dict(legs_of_ours.values_list("channel_id", "ended_at"))
    callers = [
        Arrived(channel.id, now, channel.caller, channel.dialled)
        for channel in ours
        if channel.caller is not None and channel.id not in is_over
    ]
    left_over = [channel.id for channel in ours if is_over.get(channel.id, channel.caller is None)]
    return callers, left_over


def _bridges_left_over(bridge_ids: list[str]) -> list[tuple[int, str]]:
    """Return those of our bridges whose connection is over, each after its connection."""
    ours = {pk: bridge_id for bridge_id in bridge_ids if (pk := connection_of_bridge(bridge_id)) is not None}
    if not ours:
        return []
    going_on = set(Connection.objects.open().filter(pk__in=ours).values_list("pk", flat=True))
    return [(pk, bridge_id) for pk, bridge_id in ours.items() if pk not in going_on]


def _missed(switch: Switch) -> list[Missed]:
    """Return the callers who came and went unheard; none where this switch cannot say."""
    try:
        return switch.missed()
    except SwitchError as error:
        logger.warning("the switch does not say who was missed", extra={"error": str(error)})
        return []


def _destroying(bridge_id: str) -> Callable[[], None]:
    return lambda: bridges.destroy(bridge_id)


def _hanging_up(channel_id: str) -> Callable[[], None]:
    return lambda: switch_requests.hang_up_channel(channel_id)


def _picked_up(channel_id: str, at: datetime) -> Callable[[], None]:
    return lambda: switch_events.up(channel_id, at)


def _ringing(channel_id: str, at: datetime) -> Callable[[], None]:
    return lambda: switch_events.ringing(channel_id, at)


def _losing(pk: int, channel_ids: list[str], at: datetime, found_at: datetime) -> Callable[[], None]:
    return lambda: end_lost_legs(pk, channel_ids, at, found_at)


@transaction.atomic
def end_lost_legs(pk: int, channel_ids: list[str], at: datetime, found_at: datetime | None = None) -> None:
    """End legs that are gone, without a cause, as nobody has heard why. With one left, whoever is gone has hung up.

    They ended at `at`, as far as is known. The recording of a call tells more, if it lasted until the end. A target
    that has not picked up ends when it is found missing: until then the customer waits for it.
    """
    found_at = found_at or at
    connection = legs.lock(pk)
    if connection is None:
        return
    was_recorded = connection.state == State.TALKING and not connection.is_on_hold
    going_on = [leg for leg in connection.open_legs if not leg.hangup_asked_at]
    if connection.state != State.ENDED and all(leg.channel_id in channel_ids for leg in going_on):
        give_up(connection, legs.instant(connection, at))
    is_waiting = connection.state == State.DIALLING
    targets = {leg.channel_id for leg in connection.open_legs if leg.role == Role.TARGET and not leg.up_at}
    for channel_id in channel_ids:
        switch_events.ended(channel_id, found_at if is_waiting and channel_id in targets else at, None)
    if was_recorded:
        presumed_ends.presume(pk, found_at)


def give_up(connection: Connection, at: datetime) -> None:
    """End a call that went down with the switch, or with the process that was about to tell the switch of it."""
    has_rung = any(leg.role == Role.CUSTOMER and leg.ringing_at for leg in connection.all_legs)
    failure = (
        Connection.Disposition.NO_ANSWER
        if has_rung or connection.direction == Connection.Direction.INBOUND
        else Connection.Disposition.FAILED
    )
    legs.end(
        connection,
        at,
        Connection.Disposition.ANSWERED if connection.answered_at else failure,
        cause=None,
        # Where the switch did not answer as a phone was to be rung, the leg says so.
        cause_text=next((leg.cause_text for leg in connection.open_legs if leg.cause_text), ""),
        hung_up_by=Connection.Party.SYSTEM,
        wrap_up_seconds=connection.wrap_up_seconds,
    )


_OVERDUE = """
SELECT EXISTS (SELECT FROM telephony_leg WHERE ended_at IS NULL AND asked_at < %(then)s
  AND (state = 'asked' OR hangup_asked_at < %(then)s))
"""


def is_overdue(now: datetime) -> bool:
    """A leg was asked for, or was to end, so long ago that the switch should have told of it."""
    with database.cursor() as cursor:
        cursor.execute(_OVERDUE, {"then": now - timedelta(seconds=GRACE_SECONDS)})
        return bool(cursor.fetchone()[0])


def without_legs(now: datetime) -> list[int]:
    """Connections that go on without a leg: nothing will ever end them."""
    open_ones = Connection.objects.open().exclude(state=State.QUEUED)
    old = open_ones.filter(created_at__lt=now - timedelta(seconds=GRACE_SECONDS))
    has_leg = Exists(Leg.objects.filter(connection=OuterRef("pk"), ended_at=None))
    return list(old.filter(~has_leg).values_list("pk", flat=True))


@transaction.atomic
def end_without_legs(pk: int) -> None:
    connection = legs.lock(pk)
    if connection and connection.state not in (State.QUEUED, State.ENDED) and not connection.open_legs:
        over_at = max((leg.ended_at for leg in connection.all_legs if leg.ended_at), default=call_clock.now())
        give_up(connection, legs.instant(connection, over_at))


def established() -> list[int]:
    """Connections that may have to be told to the switch again, as far as they had come."""
    beginning = [State.QUEUED, State.ORIGINATING]
    return list(Connection.objects.open().exclude(state__in=beginning).values_list("pk", flat=True))


@transaction.atomic
def restore(pk: int) -> None:
    """Tell the switch again what a process that died may have kept to itself; repeating it is harmless."""
    connection = legs.lock(pk)
    if connection is None or connection.state in (State.QUEUED, State.ORIGINATING, State.ENDED):
        return
    here = [leg for leg in connection.open_legs if leg.state == Leg.State.UP and not leg.hangup_asked_at]
    customer = connection.leg_of(Role.CUSTOMER)
    if connection.state == State.TALKING and not connection.is_on_hold:
        if len(here) > 1:
            bridges.join(connection, *here)
    elif customer in here:
        if connection.join_count:
            bridges.destroy(connection.bridge_id)
        if connection.direction == Connection.Direction.INBOUND:
            switch_requests.answer(customer)
        switch_requests.play_music(customer, connection.music_class)
