"""Commands to an open call: hang up, hold, resume, transfer, consult, and those of supervisors.

A request is checked and stored as a row. The listener carries commands out in order, once, and checks them again,
because the call may have ended meanwhile. A check assumes that earlier commands are done: a call that is about to be
put on hold can be resumed.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import actor_columns
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.pubsub import publish
from telephony import call_clock
from telephony.calls import consultations, inbound, legs, supervision, switch_requests, transfers
from telephony.leader_election import is_connected
from telephony.models import Agent, CallCommand, Connection, Queue, TransferShortcut

logger = logging.getLogger(__name__)

Kind, State = CallCommand.Kind, Connection.State
TARGETS = ("queue_id", "number", "transfer_shortcut_id")
# An older command, from before the switch was lost, is not carried out any more, unless it is to hang up.
KEPT = timedelta(seconds=10)
_ACTIONS = {
    Kind.MONITOR: AuditAction.MONITOR,
    Kind.UNMONITOR: AuditAction.ASK_END_MONITORING,
    Kind.TAKE_OVER: AuditAction.ASK_TAKE_OVER,
}


def ask(
    actor: Actor,
    connection: Connection,
    kind: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    is_there: bool | None = None,
    entry: tuple[AuditAction, dict[str, Any]] | None = None,
) -> CallCommand:
    """Store a command for the listener. In a transaction, `is_there` is what `is_switch_there` returned before it.

    `entry` is the action and the changes for the audit log.

    Raises Conflict if the state of the call does not allow it, or if there is no connection to the switch.
    """
    given = dict(arguments or {})
    _check(connection, kind, given)
    if connection.state != State.QUEUED and not (is_switch_there() if is_there is None else is_there):
        raise Conflict(ErrorCode.NO_CONNECTION_TO_PBX)
    with transaction.atomic():
        # Requests at the same time wait for the lock. The check counts their commands.
        _check(legs.lock(connection.pk), kind, given)
        command = CallCommand.objects.create(
            connection=connection, kind=kind, arguments=given, created_at=timezone.now(), **actor_columns(actor)
        )
        if entry:
            record(actor, entry[0], connection, changes=entry[1])
        publish("calls")
    return command


def _check(connection: Connection | None, kind: str, given: Mapping[str, Any]) -> None:
    """Raise Conflict if the state of the call will not allow this once all earlier commands are done."""
    if connection is None:
        raise Conflict(ErrorCode.CALL_OVER)
    waiting = CallCommand.objects.filter(connection_id=connection.pk, done_at=None).order_by("id")
    if obstacle := _obstacle(connection, kind, given, list(waiting.values_list("kind", "arguments"))):
        raise Conflict(obstacle)


def _obstacle(
    connection: Connection, kind: str, given: Mapping[str, Any], earlier: Sequence[tuple[str, Mapping[str, Any]]] = ()
) -> ErrorCode | None:
    """Return why the call will not allow the command once all earlier ones are done, or None."""
    state, is_on_hold = connection.state, connection.is_on_hold
    # Whether the consulted party has picked up; None without one.
    is_reached = consultations.is_reached(connection) if kind in consultations.KINDS else None
    for asked, arguments in earlier:
        match asked:
            case Kind.HANG_UP if not arguments.get("unless_answered"):
                state = State.ENDED
            case Kind.TRANSFER | Kind.HAND_OVER:
                state = State.WAITING
            case Kind.HOLD | Kind.RESUME | Kind.JOIN:
                is_on_hold = asked == Kind.HOLD
            case Kind.CONSULT | Kind.RETURN:
                is_on_hold, is_reached = asked == Kind.CONSULT, False if asked == Kind.CONSULT else None
    if obstacle := _obstacle_of_state(state, kind, is_on_hold=is_on_hold, is_reached=is_reached):
        return obstacle
    if kind in supervision.KINDS:
        return supervision.obstacle(connection, kind, given, earlier)
    return consultations.obstacle(connection, given) if kind == Kind.CONSULT else None


def is_switch_there() -> bool:
    """Return whether a listener is connected to the switch, and the switch answers."""
    return is_connected() and switch_requests.is_reachable()


def ask_transfer(
    actor: Actor,
    connection: Connection,
    faults: list[Fault],
    *,
    kind: str = Kind.TRANSFER,
    note: str = "",
    is_there: bool | None = None,
    **target: Any,
) -> CallCommand:
    """Store a transfer to one of TARGETS for the listener, or the wish to consult it. Raises Invalid or Conflict."""
    given = [name for name in TARGETS if target.get(name) not in (None, "")]
    if len(given) != 1 and not faults:
        faults = [Fault(ErrorCode.TRANSFER_TARGET)]
    arguments: dict[str, Any] = {}
    for name in given:
        try:
            arguments = _READERS[name](target[name])
        except PhoneError as error:
            faults = [*faults, error.fault(name)]
        except LookupError as error:
            faults = [*faults, Fault(error.args[0], name)]
    if faults:
        raise Invalid(faults)
    if note:
        arguments = {**arguments, "note": note}
    return ask(actor, connection, kind, arguments, is_there=is_there)


def ask_monitor(
    actor: Actor,
    connection: Connection,
    kind: str,
    faults: Sequence[Fault] = (),
    *,
    sip: str = "",
    mode: str = "",
    is_there: bool | None = None,
) -> CallCommand:
    """Store the command of a supervisor with this phone, and write it to the audit log. Raises Invalid or Conflict.

    MONITOR begins to listen, or changes the mode; UNMONITOR and TAKE_OVER end that.
    """
    agent = Agent.objects.active().filter(number=sip).first() if sip else None
    if sip and agent is None:
        faults = [*faults, Fault(ErrorCode.SIP_UNKNOWN, "sip")]
    if faults or agent is None:
        raise Invalid(faults)
    arguments = {"agent_id": agent.pk, **({"mode": mode} if mode else {})}
    changes = {"agent": [None, agent.login], **({"mode": [None, mode]} if mode else {})}
    return ask(actor, connection, kind, arguments, is_there=is_there, entry=(_ACTIONS[Kind(kind)], changes))


def ask_end(actor: Actor, connection: Connection, reason: str, *, is_there: bool | None = None) -> CallCommand:
    """Store the command to end the call, and write it with its reason to the audit log. Raises Conflict."""
    entry = AuditAction.END_CALL, {"reason": [None, reason]}
    return ask(actor, connection, Kind.HANG_UP, {"reason": reason}, is_there=is_there, entry=entry)


def _read_queue(pk: int) -> dict[str, Any]:
    if not Queue.objects.active().filter(pk=pk).exists():
        raise LookupError(ErrorCode.QUEUE_UNKNOWN)
    return {"queue_id": pk}


def _read_shortcut(pk: int) -> dict[str, Any]:
    shortcut = TransferShortcut.objects.select_related("queue").filter(pk=pk).first()
    if shortcut is None or (shortcut.queue and not shortcut.queue.is_active):
        raise LookupError(ErrorCode.SHORTCUT_UNKNOWN)
    return {"queue_id": shortcut.queue_id} if shortcut.queue_id else {"number": normalise(shortcut.number)}


_READERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "queue_id": _read_queue,
    "number": lambda number: {"number": normalise(number)},
    "transfer_shortcut_id": _read_shortcut,
}


def _obstacle_of_state(state: str, kind: str, *, is_on_hold: bool, is_reached: bool | None) -> ErrorCode | None:
    if state == State.ENDED:
        return ErrorCode.CALL_OVER
    if kind == Kind.HANG_UP or kind in supervision.KINDS:
        return None
    if state != State.TALKING:
        return ErrorCode.CALL_NOT_TALKING
    if kind == Kind.HOLD and is_on_hold:
        return ErrorCode.CALL_ON_HOLD
    if kind in (Kind.JOIN, Kind.HAND_OVER, Kind.RETURN) and is_reached is None:
        return ErrorCode.NOT_CONSULTING
    if kind in (Kind.RESUME, Kind.JOIN) and not is_on_hold:
        return ErrorCode.CALL_NOT_ON_HOLD
    if kind in (Kind.CONSULT, Kind.RESUME) and is_reached is not None:
        return ErrorCode.CONSULTING
    return ErrorCode.CONSULTED_RINGS if kind == Kind.JOIN and not is_reached else None


def outstanding() -> list[tuple[int, int]]:
    return list(CallCommand.objects.filter(done_at=None).order_by("id").values_list("id", "connection_id"))


def carry_out(pk: int, connection_id: int) -> None:
    """Carry out a command, unless it is done or no longer possible.

    The command is closed in any case, with an error if the switch did not answer. Only if the database is down, it
    stays open, and this raises.
    """
    try:
        is_answered = switch_requests.is_reachable()
        with switch_requests.collect_unanswered() as unanswered:
            _carry_out(pk, connection_id, is_answered=is_answered)
        if unanswered:
            CallCommand.objects.filter(pk=pk, error="").update(error=unanswered[0])
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        logger.exception("a command failed", extra={"command": pk})
        failure = f"The service failed: {type(error).__name__}."
        CallCommand.objects.filter(pk=pk, done_at=None).update(done_at=timezone.now(), error=failure)


@transaction.atomic
def _carry_out(pk: int, connection_id: int, *, is_answered: bool) -> None:
    connection = legs.lock(connection_id)
    command = CallCommand.objects.select_for_update(no_key=True).filter(pk=pk, done_at=None).first()
    if connection is None or command is None:
        return
    now = timezone.now()
    obstacle = _obstacle(connection, command.kind, command.arguments)
    is_late = command.kind != Kind.HANG_UP and command.created_at < now - KEPT
    if obstacle is None and connection.state != State.QUEUED and (is_late or not is_answered):
        obstacle = ErrorCode.NO_CONNECTION_TO_PBX
        logger.warning("a command was not carried out: no connection to the PBX", extra={"command": command.kind})
    if obstacle is None:
        _VERBS[command.kind](connection, command, legs.instant(connection, call_clock.now()))
    command.done_at, command.error = now, str(obstacle.text) if obstacle else ""
    # The note is kept with the transfer or consultation.
    command.arguments.pop("note", None)
    command.save(update_fields=["done_at", "error", "arguments"])


def _hang_up(connection: Connection, command: CallCommand, at: datetime) -> None:
    if command.arguments.get("unless_answered") and connection.is_answered:
        return
    is_agents = connection.state == State.TALKING and "reason" not in command.arguments
    hung_up_by = Connection.Party.AGENT if is_agents else Connection.Party.SYSTEM
    legs.end(connection, at, Connection.Disposition.FAILED, cause=legs.NORMAL, hung_up_by=hung_up_by)


def _hold(connection: Connection, command: CallCommand, at: datetime) -> None:
    legs.hold(connection)
    consultations.talk_apart(connection)


def _transfer(connection: Connection, command: CallCommand, at: datetime) -> None:
    """Send the customer to a queue or number. The agent or target who talks with the customer leaves the call."""
    queue = Queue.objects.filter(pk=command.arguments.get("queue_id")).first()
    number, note = command.arguments.get("number", ""), command.arguments.get("note", "")
    target = transfers.agent_of(number) if number and connection.agent else None
    to: dict[str, Any] = {"queue": queue, "number": number, "note": note, "target": target}
    # Out of the bridge first: a line hears silence outside only.
    transfers.hand_on(connection, command.actor, at, **to, is_parted=connection.uses_line)
    if queue:
        inbound.enter_queue(connection, queue, at)
    else:
        transfers.call_target(connection, number, at)


_VERBS: dict[str, Callable[[Connection, CallCommand, datetime], None]] = {
    Kind.HANG_UP: _hang_up,
    Kind.HOLD: _hold,
    Kind.RESUME: lambda connection, command, at: legs.resume(connection),
    Kind.TRANSFER: _transfer,
    Kind.CONSULT: consultations.begin,
    Kind.JOIN: consultations.join,
    Kind.HAND_OVER: lambda connection, command, at: consultations.hand_over(connection, command.actor, at),
    Kind.RETURN: consultations.give_up,
    Kind.MONITOR: supervision.monitor,
    Kind.UNMONITOR: supervision.unmonitor,
    Kind.TAKE_OVER: supervision.take_over,
}
