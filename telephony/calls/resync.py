"""Rows against channels: what happened while nobody listened, and what was wanted and never said.

The switch tells nothing twice, a process may die between its commit and its command, and a command may get no answer.
So from time to time, and whenever the stream of events begins anew, open legs are compared with the channels that the
switch lists. A leg that is missing twice, some seconds apart, is over: once might be news that is still on its way.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection as database
from django.db import transaction
from django.db.models import Exists, OuterRef

from telephony import clocks
from telephony.calls import handling, legs, orders, unseen
from telephony.channels import connection_of
from telephony.models import Connection, Leg
from telephony.switch.base import Switch

# A leg that was asked for is on its way to the switch for so long at most; a wish to hang up is done by then.
GRACE_SECONDS = 10.0

Role, State = Leg.Role, Connection.State


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be done with one connection; 0 for a channel that belongs to none."""

    connection_id: int
    act: Callable[[], None]


class Comparison:
    """Remembers what was missing the last time, since when at the latest, and when each channel was listed last."""

    def __init__(self) -> None:
        self._missing: dict[str, datetime] = {}
        self._listed_at: dict[str, datetime] = {}

    @property
    def is_in_doubt(self) -> bool:
        """Something was missing: another look will tell."""
        return bool(self._missing)

    def look(self, switch: Switch, silent_since: datetime | None = None) -> list[Finding]:
        """Compare. The legs are read before the channels, so that none of them is too young to be listed.

        `silent_since` is when the switch was heard last before the present stream of its events.
        """
        now = clocks.now()
        rows = {leg.channel_id: leg for leg in Leg.objects.filter(ended_at=None).order_by("id")}
        channels = {channel.id: channel for channel in switch.channels()}
        findings: list[Finding] = []
        lost: dict[int, list[str]] = defaultdict(list)
        missing: dict[str, datetime] = {}
        for channel_id, leg in rows.items():
            channel = channels.get(channel_id)
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
        findings += [Finding(0, _hanging_up(channel_id)) for channel_id in _left_over(channels.keys() - rows.keys())]
        self._missing, self._listed_at = missing, dict.fromkeys(channels, now)
        return findings

    def _gone_at(self, leg: Leg, now: datetime, silent_since: datetime | None) -> datetime:
        """Return when a missing leg ended at the latest. The end was told, unless the switch was not heard then."""
        signs = (leg.asked_at, leg.ringing_at, leg.up_at, self._listed_at.get(leg.channel_id))
        if silent_since is None or any(sign and sign > silent_since for sign in signs):
            return now
        return silent_since


def _left_over(channel_ids: set[str]) -> list[str]:
    """Channels that we asked for and whose legs are over."""
    ours = [channel_id for channel_id in channel_ids if connection_of(channel_id) is not None]
    wanted = set(Leg.objects.filter(channel_id__in=ours, ended_at=None).values_list("channel_id", flat=True))
    return [channel_id for channel_id in ours if channel_id not in wanted]


def _hanging_up(channel_id: str) -> Callable[[], None]:
    return lambda: orders.hang_up_channel(channel_id)


def _picked_up(channel_id: str, at: datetime) -> Callable[[], None]:
    return lambda: handling.up(channel_id, at)


def _ringing(channel_id: str, at: datetime) -> Callable[[], None]:
    return lambda: handling.ringing(channel_id, at)


def _losing(pk: int, channel_ids: list[str], at: datetime, found_at: datetime) -> Callable[[], None]:
    return lambda: lose(pk, channel_ids, at, found_at)


@transaction.atomic
def lose(pk: int, channel_ids: list[str], at: datetime, found_at: datetime | None = None) -> None:
    """End legs that are gone, without a cause, as nobody has heard why. With one left, whoever is gone has hung up.

    They ended at `at`, as far as is known. The recording of a call tells more, if it lasted until the end. A target that
    has not picked up ends when it is found missing: until then the customer waits for it.
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
        handling.ended(channel_id, found_at if is_waiting and channel_id in targets else at, None)
    if was_recorded:
        unseen.presume(pk, found_at)


def give_up(connection: Connection, at: datetime) -> None:
    """The call went down with the switch, or with whoever was about to tell it."""
    failure = (
        Connection.Disposition.FAILED
        if connection.direction == Connection.Direction.OUTBOUND
        else Connection.Disposition.NO_ANSWER
    )
    legs.end(
        connection,
        at,
        Connection.Disposition.ANSWERED if connection.answered_at else failure,
        cause=None,
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


def legless(now: datetime) -> list[int]:
    """Connections that go on without a leg: nothing will ever end them."""
    open_ones = Connection.objects.open().exclude(state=State.QUEUED)
    old = open_ones.filter(created_at__lt=now - timedelta(seconds=GRACE_SECONDS))
    has_leg = Exists(Leg.objects.filter(connection=OuterRef("pk"), ended_at=None))
    return list(old.filter(~has_leg).values_list("pk", flat=True))


@transaction.atomic
def end_legless(pk: int) -> None:
    connection = legs.lock(pk)
    if connection and connection.state not in (State.QUEUED, State.ENDED) and not connection.open_legs:
        over_at = max((leg.ended_at for leg in connection.all_legs if leg.ended_at), default=clocks.now())
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
            orders.join(connection, *here)
    elif customer in here:
        if connection.direction == Connection.Direction.INBOUND:
            orders.answer(customer)
        orders.play_music(customer, connection.music_class)
