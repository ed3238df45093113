"""Comparison of open legs with the channels that the switch lists, and the repair of the differences.

The switch reports nothing twice, a process may die between its commit and its request, and a request may get no answer.
So the listener compares from time to time, and at each start of the stream of events. A leg that is missing in two
comparisons, some seconds apart, has ended; after the first one its event may still arrive. A caller without a leg is
stored, and a bridge whose connection is over is destroyed.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import starmap

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from callcentre.core.pubsub import publish
from telephony import call_clock, causes
from telephony.calls import (
    bridges,
    caller_steps,
    consultations,
    legs,
    line_events,
    lines,
    presumed_ends,
    prompts,
    supervision,
    switch_events,
    switch_requests,
)
from telephony.channels import connection_of, connection_of_bridge, line_of, line_of_tone, play_id
from telephony.models import AgentLine, Connection, Leg, Supervision
from telephony.switch.base import Arrived, Channel, Missed, Switch, SwitchError

logger = logging.getLogger(__name__)

# After this time a requested leg is at the switch, and a requested hang-up is done.
GRACE_SECONDS = 10.0
# The last contact before an interruption is stored about once a second.
CONTACT_SECONDS = 5.0

Role, State = Leg.Role, Connection.State


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair of one connection or standing line; the id is 0 for a channel without a connection."""

    connection_id: int
    act: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Differences:
    """The result of a comparison: callers who have no leg yet or were missed, and repairs; and when it was made."""

    callers: list[Arrived | Missed]
    repairs: list[Repair]
    listed_at: datetime


class Comparison:
    """Compares legs and standing lines with channels. Keeps what was missing and listed in the comparison before."""

    def __init__(self) -> None:
        self._missing: dict[str, datetime] = {}
        self._listed_at: dict[str, datetime] = {}

    @property
    def is_inconclusive(self) -> bool:
        """Whether a leg or line was missing, so that another comparison is needed."""
        return bool(self._missing)

    def compare(self, switch: Switch, silent_since: datetime | None = None) -> Differences:
        """Compare. The rows are read before the channels, so that every leg and line is old enough to be listed.

        `silent_since` is the last contact with the switch before the present stream of events.
        """
        now = call_clock.now()
        young = now - timedelta(seconds=GRACE_SECONDS)
        lines_by_channel = {line.channel_id: line for line in AgentLine.objects.filter(ended_at=None).order_by("id")}
        legs_of_calls = {leg.channel_id: leg for leg in Leg.objects.filter(ended_at=None).order_by("id")}
        supervisors = list(Supervision.objects.filter(ended_at=None))
        rows: dict[str, Leg | AgentLine] = {**legs_of_calls, **lines_by_channel}
        channels = {channel.id: channel for channel in switch.channels()}
        listed_at = call_clock.now()
        repairs: list[Repair] = []
        lost: dict[int, list[str]] = defaultdict(list)
        missing: dict[str, datetime] = {}
        for channel_id, row in rows.items():
            if row.state == Leg.State.REFUSED:
                continue
            if channel := channels.get(channel_id):
                repairs += _of_present(row, channel, now)
                continue
            if row.state == Leg.State.ASKED and row.asked_at > young:
                continue
            gone_at = missing[channel_id] = self._missing.get(channel_id) or self._gone_at(row, now, silent_since)
            if channel_id in self._missing and row.connection_id:
                # The line of an agent is lost together with the legs of its call.
                lost[row.connection_id].append(channel_id)
            elif channel_id in self._missing:
                repairs.append(Repair(row.pk, partial(line_events.ended, channel_id, gone_at, None)))
        _mark_cut_off(lost, rows.values(), channels, silent_since)
        for pk, channel_ids in lost.items():
            gone_at = min(missing[channel_id] for channel_id in channel_ids)
            repairs.append(Repair(pk, partial(end_lost_legs, pk, channel_ids, gone_at, now)))
        strangers = [channel for channel in channels.values() if channel.id not in rows]
        callers, left_over = _sorted(strangers, now)
        repairs += [Repair(0, partial(switch_requests.hang_up, channel_id)) for channel_id in left_over]
        repairs += [
            Repair(pk, partial(_hang_up_over, pk, channel_id))
            for pk, channel_id in _lines_left_over(channels, lines_by_channel)
        ]
        bridge_ids = switch.bridges()
        repairs += [
            Repair(pk, partial(bridges.destroy_left_over, bridge_id))
            for pk, bridge_id in _bridges_left_over(bridge_ids)
        ]
        is_up = {channel.id: channel.is_up for channel in channels.values()}
        repairs += starmap(Repair, supervision.differences(supervisors, legs_of_calls, is_up, bridge_ids))
        self._missing, self._listed_at = missing, dict.fromkeys(channels, now)
        return Differences([*callers, *_missed(switch)], repairs, listed_at)

    def _gone_at(self, row: Leg | AgentLine, now: datetime, silent_since: datetime | None) -> datetime:
        """Return when a missing leg or line ended at the latest: at the last contact before which it was seen, or now.

        This is the only rule for ends without an event. A recording may correct it (telephony.calls.presumed_ends).
        """
        signs = (row.asked_at, getattr(row, "ringing_at", None), row.up_at, self._listed_at.get(row.channel_id))
        if silent_since is None or any(sign and sign > silent_since for sign in signs):
            return now
        return silent_since


def _of_present(row: Leg | AgentLine, channel: Channel, now: datetime) -> list[Repair]:
    """Return the repair of a leg or line whose channel is listed, if it needs one."""
    is_unheard = channel.is_up and row.state != Leg.State.UP
    if isinstance(row, AgentLine):
        return [Repair(row.pk, partial(line_events.up, channel.id, now))] if is_unheard else []
    if row.hangup_asked_at:
        return [Repair(row.connection_id, partial(switch_requests.hang_up, channel.id))]
    if is_unheard:
        return [Repair(row.connection_id, partial(switch_events.up, channel.id, now))]
    if channel.is_ringing and row.state == Leg.State.ASKED:
        return [Repair(row.connection_id, partial(switch_events.ringing, channel.id, now))]
    return []


def _sorted(strangers: list[Channel], now: datetime) -> tuple[list[Arrived], list[str]]:
    """Return the callers among channels without an open leg, and the channels whose leg is over."""
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
    """Return connection and bridge of each of our bridges whose connection is over."""
    ours = {pk: bridge_id for bridge_id in bridge_ids if (pk := connection_of_bridge(bridge_id)) is not None}
    if not ours:
        return []
    going_on = set(Connection.objects.open().filter(pk__in=ours).values_list("pk", flat=True))
    return [(pk, bridge_id) for pk, bridge_id in ours.items() if pk not in going_on]


def _missed(switch: Switch) -> list[Missed]:
    """Return the callers who gave up while no listener was connected, as far as the switch knows them."""
    try:
        return switch.missed()
    except SwitchError as error:
        logger.warning("the switch does not say who was missed", extra={"error": str(error)})
        return []


def _has_gone_on(rows: Collection[Leg | AgentLine], channels: Collection[str], silent_since: datetime) -> bool:
    """Return whether the switch has kept a channel over the interruption: it was not the switch that was lost."""
    return any(row.channel_id in channels and row.asked_at < silent_since for row in rows)


def _mark_cut_off(
    lost: dict[int, list[str]],
    rows: Collection[Leg | AgentLine],
    channels: Collection[str],
    silent_since: datetime | None,
) -> None:
    """Note on legs of customers that they may have been answered during the interruption.

    Without a listener the switch has nowhere to send an answered call, and hangs up. No event says that it rang.
    """
    channel_ids = [channel_id for of_call in lost.values() for channel_id in of_call]
    if not channel_ids or silent_since is None or not _has_gone_on(rows, channels, silent_since):
        return
    unanswered = Leg.objects.filter(role=Role.CUSTOMER, up_at=None, ended_at=None, hangup_asked_at=None)
    of_calls_out = unanswered.filter(connection__direction=Connection.Direction.OUTBOUND)
    placed_before = of_calls_out.filter(asked_at__lt=silent_since + timedelta(seconds=CONTACT_SECONDS))
    placed_before.filter(channel_id__in=channel_ids).update(cause_text=causes.CUT_OFF)


@transaction.atomic
def end_lost_legs(pk: int, channel_ids: list[str], at: datetime, found_at: datetime | None = None) -> None:
    """End legs and lines that are gone, with an unknown cause, at `at`.

    If a leg is left, the party that is gone has hung up; without any, the system has.

    The recording of the call may correct this end. A target that has not picked up ends when it is found missing,
    because the customer waits for it until then.
    """
    found_at = found_at or at
    connection = legs.lock(pk)
    if connection is None:
        return
    was_recorded = connection.state == State.TALKING and not connection.is_on_hold
    present = {leg.channel_id for leg in connection.open_legs}
    going_on = [leg for leg in connection.open_legs if not leg.hangup_asked_at]
    if connection.state != State.ENDED and all(leg.channel_id in channel_ids for leg in going_on):
        end_lost_call(connection, legs.instant(connection, at))
    is_waiting = connection.state == State.DIALLING
    targets = {leg.channel_id for leg in connection.open_legs if leg.role == Role.TARGET and not leg.up_at}
    for channel_id in channel_ids:
        gone_at = found_at if is_waiting and channel_id in targets else at
        if line_of(channel_id) is None:
            switch_events.ended(channel_id, gone_at, None)
        elif channel_id in present:  # not in another call by now
            line_events.ended(channel_id, gone_at, None)
    if was_recorded:
        presumed_ends.presume(pk, found_at)


def end_lost_call(connection: Connection, at: datetime) -> None:
    """End a call that was lost with the switch, or with the process that was about to request it."""
    has_rung = any(leg.role == Role.CUSTOMER and leg.ringing_at for leg in connection.all_legs)
    failure = (
        Connection.Disposition.NO_ANSWER
        if has_rung or connection.direction == Connection.Direction.INBOUND
        else Connection.Disposition.FAILED
    )
    # A leg has a text if the switch did not answer the request for it.
    reason = next((leg.cause_text for leg in connection.open_legs if leg.cause_text), "")
    legs.end(connection, at, failure, cause=None, cause_text=reason, hung_up_by=Connection.Party.SYSTEM)


def is_overdue(now: datetime) -> bool:
    """Return whether the switch should have reported the start or the end of a leg by now."""
    then = now - timedelta(seconds=GRACE_SECONDS)
    is_asked, is_hung_up = Q(state=Leg.State.ASKED), Q(hangup_asked_at__lt=then)
    has_left = Q(connection_id=None) | Q(cause__isnull=False)
    legs_late = Leg.objects.filter(is_asked | is_hung_up, ended_at=None, asked_at__lt=then)
    lines_late = AgentLine.objects.filter(is_asked | has_left & is_hung_up, ended_at=None, asked_at__lt=then)
    return legs_late.exists() or lines_late.exists()


def without_legs(now: datetime) -> list[int]:
    """Return the open connections without a leg. No event can end them."""
    open_ones = Connection.objects.open().exclude(state=State.QUEUED)
    old = open_ones.filter(created_at__lt=now - timedelta(seconds=GRACE_SECONDS))
    has_leg = Exists(Leg.objects.filter(connection=OuterRef("pk"), ended_at=None))
    return list(old.filter(~has_leg).values_list("pk", flat=True))


@transaction.atomic
def end_without_legs(pk: int) -> None:
    connection = legs.lock(pk)
    if connection and connection.state not in (State.QUEUED, State.ENDED) and not connection.open_legs:
        over_at = max((leg.ended_at for leg in connection.all_legs if leg.ended_at), default=call_clock.now())
        end_lost_call(connection, legs.instant(connection, over_at))


def established() -> list[int]:
    """Return the open connections whose requests to the switch may have to be repeated."""
    beginning = [State.QUEUED, State.ORIGINATING]
    return list(Connection.objects.open().exclude(state__in=beginning).values_list("pk", flat=True))


@transaction.atomic
def restore(pk: int) -> None:
    """Repeat the requests for the present state of a call, in case that a process died before it sent them."""
    connection = legs.lock(pk)
    if connection is None or connection.state in (State.QUEUED, State.ORIGINATING, State.ENDED):
        return
    _restore_talk(connection)
    supervision.restore(connection)


def _restore_talk(connection: Connection) -> None:
    here = [leg for leg in connection.open_legs if leg.state == Leg.State.UP and not leg.hangup_asked_at]
    customer = connection.leg_of(Role.CUSTOMER)
    if connection.state == State.TALKING and not connection.is_on_hold and not connection.agent_lost_at:
        if len(here) > 1:
            _end_sounds(connection)
            bridges.join(connection, *here, is_repeated=True)
    elif (
        connection.state in (State.WAITING, State.PLAYING)
        and connection.waiting_since
        and caller_steps.restore(connection)
    ):
        return
    elif connection.state in (State.DETECTING, State.PLAYING) or _waits_for_dialler(connection):
        # The result, the end of the message or the next agent is awaited: telephony.calls.dialler_calls.
        return
    elif customer in here:
        if connection.join_count:
            bridges.destroy(connection)
        if connection.direction == Connection.Direction.INBOUND:
            switch_requests.send("answer", customer.channel_id)
        switch_requests.play_music(customer, connection.music_class)
        consultations.talk_apart(connection)


def _end_sounds(connection: Connection) -> None:
    """End what the customer of a talk may hear still from before: the parties would not hear each other."""
    if customer := connection.leg_of(Role.CUSTOMER):
        switch_requests.send("stop_music", customer.channel_id)
    if (step := prompts.step_of(connection)) and step.play_count:
        switch_requests.send("stop_play", play_id(connection.pk, step.play_count))


def _waits_for_dialler(connection: Connection) -> bool:
    """Return whether a dialler's call was answered and has no agent yet."""
    return connection.state == State.WAITING and connection.waiting_since is None


# Standing lines


def _lines_left_over(channel_ids: Collection[str], known: Collection[str]) -> list[tuple[int, str]]:
    """Return line and channel, for channels of other lines than these and for all tones."""
    found: list[tuple[int, str]] = []
    for channel_id in channel_ids:
        line_channel = line_of_tone(channel_id)
        line_id = line_of(line_channel or channel_id)
        if line_id is not None and (line_channel or channel_id not in known):
            found.append((line_id, channel_id))
    return found


def _hang_up_over(line_id: int, channel_id: str) -> None:
    """Hang up a channel, unless its line is a new one; that of a tone, unless the line still waits for its end."""
    of_line = AgentLine.objects.filter(pk=line_id, ended_at=None)
    if line_of_tone(channel_id):
        of_line = of_line.filter(connection_id__isnull=False, joined_at=None)
    if not of_line.exists():
        switch_requests.hang_up(channel_id)


def end_offline_lines(switch: Switch) -> None:
    """End the lines of phones that went offline while no listener was connected, which no event reports.

    A line in a call ends after it, because its phone may only have failed to answer the switch for a moment.
    """
    lasting = AgentLine.objects.filter(ended_at=None, state=AgentLine.State.UP, hangup_asked_at=None)
    if not lasting.exists():
        return
    try:
        offline = switch.offline_phones()
    except SwitchError as error:
        logger.warning("the switch does not list its phones", extra={"error": str(error)})
        return
    if lasting.filter(agent__number__in=offline).update(hangup_asked_at=timezone.now()):
        publish("calls")


def restore_silence() -> None:
    """Play silence to all lines that are in no call, in case a process died before its request."""
    for pk in AgentLine.objects.filter(ended_at=None, state=AgentLine.State.UP, connection_id=None).values_list(
        "pk", flat=True
    ):
        lines.silence_idle(pk)
