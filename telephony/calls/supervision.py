"""Supervisors in the calls of others: they listen, whisper to the agent, talk with both, or take the call over.

A request is a command to the call (telephony.calls.commands): the listener calls the supervisor's phone, and another
request changes the mode of that phone without calling it again. The supervisor hears the customer's channel, so a
transfer or a hold changes nothing for them, and the end of the call ends their part. They have no leg: for the call and
its agent nothing changes, whether the supervisor stays or leaves.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from callcentre.core.changes import actor_columns, store
from callcentre.core.errors import ErrorCode
from telephony import call_clock, causes
from telephony.calls import bridges, legs, lines, switch_requests, transfers
from telephony.channels import monitor_channel_id, supervised_by, supervisor_of_snoop
from telephony.models import Agent, CallCommand, Connection, Leg, Supervision
from telephony.switch.base import SwitchError
from telephony.verbs import presence

Kind, Mode = CallCommand.Kind, Supervision.Mode
KINDS = (Kind.MONITOR, Kind.UNMONITOR, Kind.TAKE_OVER)
TAKE_OVER = "take_over"
# The switch has a phone that was requested after this time.
GRACE = timedelta(seconds=10)


def obstacle(
    connection: Connection, kind: str, arguments: Mapping[str, Any], asked: Sequence[tuple[str, Mapping[str, Any]]] = ()
) -> ErrorCode | None:
    """Return why the command of a supervisor is not possible in this open call, or None.

    `asked` are the earlier commands, kind and arguments, that are not done yet.
    """
    agent_id = arguments["agent_id"]
    mine = [of_kind for of_kind, values in asked if of_kind in KINDS and values["agent_id"] == agent_id]
    if mine:
        is_there = mine[-1] == Kind.MONITOR
    else:
        there = Supervision.objects.filter(connection=connection, agent=agent_id, ended_at=None)
        is_there = (there.exclude(up_at=None) if kind == Kind.TAKE_OVER else there).exists()
    if kind != Kind.MONITOR and not is_there:
        return ErrorCode.NOT_MONITORED
    if (kind == Kind.TAKE_OVER or not is_there) and connection.state != Connection.State.TALKING:
        return ErrorCode.CALL_NOT_TALKING
    if is_there:
        return None
    # A standing line has the phone also between calls.
    return ErrorCode.PHONE_OCCUPIED if lines.has_open(agent_id) else lines.obstacle_of_phone(agent_id)


def monitor(connection: Connection, command: CallCommand, at: datetime) -> None:
    """Call the supervisor's phone, or change the mode if it is there."""
    mode, agent_id = command.arguments["mode"], command.arguments["agent_id"]
    begun = [mode, timezone.now().isoformat(timespec="seconds")]
    row = Supervision.objects.filter(connection=connection, agent=agent_id, ended_at=None).first()
    if row is None:
        _call(connection, command, begun, at)
    elif row.mode != mode:
        store(row, mode=mode, modes=[*row.modes, begun])
        if row.up_at:
            _place(connection, row)


def _call(connection: Connection, command: CallCommand, begun: list[str], at: datetime) -> None:
    agent = Agent.objects.get(pk=command.arguments["agent_id"])
    channel_id = monitor_channel_id(connection.pk, command.pk)
    Supervision.objects.create(
        connection=connection,
        agent=agent,
        channel_id=channel_id,
        mode=begun[0],
        modes=[begun],
        asked_at=at,
        **actor_columns(command.actor),
    )
    if not connection.is_supervised:
        store(connection, is_supervised=True)

    def refused(error: SwitchError) -> None:
        ended(channel_id, call_clock.now(), error.cause, str(error))

    switch_requests.send(
        "call_agent",
        channel_id,
        agent.number,
        presented=connection.customer_number,
        ring_seconds=settings.AGENT_RING_SECONDS,
        is_awaited=True,
        refused=refused,
    )


def _place(connection: Connection, row: Supervision) -> None:
    is_apart = connection.is_on_hold or connection.agent_lost_at is not None
    is_in_talk = connection.state == Connection.State.TALKING and not is_apart
    bridges.place_supervisor(connection, row, is_in_talk=is_in_talk)


def unmonitor(connection: Connection, command: CallCommand, at: datetime) -> None:
    for row in bridges.supervisors_in(connection):
        if row.agent_id == command.arguments["agent_id"]:
            bridges.end_supervision(connection, row, at)


def take_over(connection: Connection, command: CallCommand, at: datetime) -> None:
    """Make the supervisor the agent of the call, as after a transfer. The agent leaves the call, and wraps it up.

    The supervisor's channel is a leg from now on.
    """
    row = next(row for row in bridges.supervisors_in(connection) if row.agent_id == command.arguments["agent_id"])
    agent = row.agent
    modes = [*row.modes, [Mode.TAKE_OVER, timezone.now().isoformat(timespec="seconds")]]
    store(row, ended_at=max(at, row.asked_at), mode=Mode.TAKE_OVER, modes=modes)
    transfers.hand_on(connection, command.actor, at, number=agent.number, target=agent, action=TAKE_OVER)
    switch_requests.send("stop_listening", row.channel_id)
    role, up = Leg.Role.TARGET, Leg.State.UP
    leg = legs.add_leg(connection, role, agent.number, at, agent=agent, channel_id=row.channel_id, state=up)
    presence.ring(agent, connection, at)
    transfers.take(connection, leg, at)


# Events of supervisors' phones, under the lock of the call. A repeated or late event changes nothing.


@transaction.atomic
def up(channel_id: str, at: datetime) -> None:
    found = _lock(channel_id)
    if found is None:
        if not Leg.objects.filter(channel_id=channel_id, ended_at=None).exists():
            bridges.remove_supervisor(channel_id)
    elif found[1].up_at is None:
        connection, row = found
        store(row, up_at=max(legs.instant(connection, at), row.asked_at))
        _place(connection, row)


@transaction.atomic
def ended(channel_id: str, at: datetime, cause: int | None, cause_text: str = "") -> bool:
    """End the part of a supervisor whose phone is gone. Return false if there is none: the phone may be a leg."""
    if (found := _lock(channel_id)) is None:
        return False
    connection, row = found
    why = "" if row.up_at else cause_text or causes.text_of(cause)
    bridges.end_supervision(connection, row, legs.instant(connection, at), why)
    return True


def _lock(channel_id: str) -> tuple[Connection, Supervision] | None:
    connection = legs.lock(supervised_by(channel_id) or 0)
    row = Supervision.objects.select_related("agent").filter(channel_id=channel_id, ended_at=None).first()
    return (connection, row) if connection and row else None


def differences(
    rows: Collection[Supervision],
    legs_there: Collection[str],
    channels: Mapping[str, bool],
    bridges_there: Sequence[str],
) -> Iterator[tuple[int, partial[Any]]]:
    """Yield connection and repair of each supervisor who differs from what the switch lists.

    `rows` were read before; `channels` says of each listed channel whether it is up. What belongs to no open row is
    left over from a process that died.
    """
    now, known = call_clock.now(), {row.channel_id for row in rows} | {*legs_there}
    for row in rows:
        if row.channel_id not in channels:
            if row.up_at or row.asked_at < now - GRACE:
                yield row.connection_id, partial(ended, row.channel_id, now, None)
        elif channels[row.channel_id] and not row.up_at:
            yield row.connection_id, partial(up, row.channel_id, now)
    listed = {supervisor_of_snoop(channel_id) or channel_id for channel_id in (*channels, *bridges_there)}
    for channel_id in sorted(listed - known):
        if connection_id := supervised_by(channel_id):
            yield connection_id, partial(_remove_left_over, channel_id)


@transaction.atomic
def _remove_left_over(channel_id: str) -> None:
    is_of_leg = Leg.objects.filter(channel_id=channel_id, ended_at=None).exists()
    if not is_of_leg and not Supervision.objects.filter(channel_id=channel_id, ended_at=None).exists():
        bridges.remove_supervisor(channel_id)


def restore(connection: Connection) -> None:
    """Repeat the requests for the supervisors of a call, in case that a process died before it sent them."""
    for row in bridges.supervisors_in(connection):
        if row.up_at:
            _place(connection, row)
