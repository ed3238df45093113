"""The validator of tickets: it checks texts and finds the rows that ids and logins name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from callcentre.core.errors import ErrorCode, Fault, check_lines
from telephony.models import Agent
from tickets import html
from tickets.addresses import is_address, read_sender
from tickets.models.customer import Customer
from tickets.models.message import Message
from tickets.models.status import TicketCategory, TicketStatus, TicketSubstatus, TicketType
from tickets.models.team import Team
from tickets.models.ticket import Source, Ticket
from tickets.models.ticket_queue import TicketQueue

LONGEST_SUBJECT = 500


def check_not_merged(ticket: Ticket) -> list[Fault]:
    is_merged = ticket.merged_into_id is not None
    return [Fault(ErrorCode.TICKET_MERGED, params={"ticket_id": ticket.merged_into_id})] if is_merged else []


def check_subject(subject: str | None) -> Iterable[Fault]:
    if subject is not None and not subject.strip():
        yield Fault(ErrorCode.EMPTY, "subject")
    if len(subject or "") > LONGEST_SUBJECT:
        yield Fault(ErrorCode.TOO_LONG, "subject", {"limit": LONGEST_SUBJECT})
    yield from check_lines(subject=subject or "")


def check_sender(given: str, source: str, *, may_be_any: bool = False) -> list[Fault]:
    """Return the faults of a given sender: a name alone, or an address that mail can be sent to.

    The address is not checked with `may_be_any`, for the sender of a mail that has arrived already.
    """
    if faults := list(check_lines(sender=given)):
        return faults
    is_wrong = "@" in given and source == Source.EMAIL and not may_be_any and not is_address(read_sender(given)[0])
    return [Fault(ErrorCode.ADDRESS_MALFORMED, "sender")] if is_wrong else []


def customer_of(sender: str) -> Customer | None:
    """Return the customer with this address, held until the transaction ends."""
    return Customer.objects.hold_of_email(sender) if "@" in sender else None


def cleaned(text: str, body_type: str) -> str:
    """Return the text with its HTML cleaned. It can take seconds, so verbs call it before they lock a row."""
    return str(html.clean(text)) if body_type == Message.BodyType.HTML else text


def check_body(given: str, kept: str, body_type: str, field: str = "body") -> Iterable[Fault]:
    """Yield a fault if nothing of the text is kept. An empty text has its fault from the Input already."""
    if given and (html.says_nothing(kept) if body_type == Message.BodyType.HTML else not kept.strip()):
        yield Fault(ErrorCode.EMPTY, field)


@dataclass(slots=True)
class Choice:
    """The rows that a ticket refers to."""

    status: TicketStatus | None = None
    substatus: TicketSubstatus | None = None
    queue: TicketQueue | None = None
    category: TicketCategory | None = None
    type: TicketType | None = None
    agent: Agent | None = None
    team: Team | None = None
    customer: Customer | None = None


def choose(values: Mapping[str, Any], ticket: Ticket | None, faults: list[Fault]) -> Choice:
    """Return the choice after these values, and add faults. A name that is absent changes nothing; an empty
    agent_login, and None for category_id, type_id, team_id, customer_id and substatus_id, clear the column.

    Another status clears the sub-status, unless a new one is given. A sub-status alone also sets its status. A ticket
    without an agent that is moved to another queue gets the team of that queue, or none.
    """
    after = Choice()
    if ticket:
        after = Choice(**{each.name: getattr(ticket, each.name) for each in fields(Choice)})
    _choose_status(values, after, faults)
    for column, name, find, code in _CHOICES:
        if name not in values:
            continue
        wanted = values[name]
        chosen = None if wanted in (None, "") else find(wanted)
        if chosen is None and wanted not in (None, ""):
            faults.append(Fault(code, name))
        if chosen is not None or column != "queue":
            setattr(after, column, chosen)
    if ticket and after.queue and after.queue != ticket.queue and not after.agent and "team_id" not in values:
        after.team = after.queue.active_team
    return after


def _active_queue(pk: int) -> TicketQueue | None:
    return TicketQueue.objects.active().filter(pk=pk).first()


def _active_category(pk: int) -> TicketCategory | None:
    return TicketCategory.objects.filter(pk=pk, is_active=True).first()


def _active_type(pk: int) -> TicketType | None:
    return TicketType.objects.filter(pk=pk, is_active=True).first()


def _active_team(pk: int) -> Team | None:
    return Team.objects.filter(pk=pk, is_active=True).first()


def _active_agent(login: str) -> Agent | None:
    return Agent.objects.active().filter(login=login).first()


def active_agent(login: str, faults: list[Fault]) -> Agent | None:
    """Return the active agent of this login, or None; add a fault if there is none. An empty login is no fault."""
    agent = _active_agent(login) if login else None
    if login and agent is None:
        faults.append(Fault(ErrorCode.AGENT_NOT_FOUND, "agent_login"))
    return agent


# Column of the choice, name of the value, function that finds the row, fault if there is none.
_CHOICES: Sequence[tuple[str, str, Callable[[Any], Any], ErrorCode]] = (
    ("queue", "queue_id", _active_queue, ErrorCode.TICKET_QUEUE_NOT_FOUND),
    ("category", "category_id", _active_category, ErrorCode.TICKET_CATEGORY_NOT_FOUND),
    ("type", "type_id", _active_type, ErrorCode.TICKET_TYPE_NOT_FOUND),
    ("customer", "customer_id", Customer.objects.hold, ErrorCode.CUSTOMER_NOT_FOUND),
    ("team", "team_id", _active_team, ErrorCode.TEAM_NOT_FOUND),
    ("agent", "agent_login", _active_agent, ErrorCode.AGENT_NOT_FOUND),
)


def _choose_status(values: Mapping[str, Any], after: Choice, faults: list[Fault]) -> None:
    status_id, substatus_id = values.get("status_id"), values.get("substatus_id")
    if status_id is not None:
        status = TicketStatus.objects.filter(pk=status_id).first()
        if status is None:
            faults.append(Fault(ErrorCode.TICKET_STATUS_NOT_FOUND, "status_id"))
        elif not status.meaning.is_choice and status != after.status:
            faults.append(Fault(ErrorCode.STATUS_MERGED_BY_HAND, "status_id"))
        elif status != after.status:
            after.status, after.substatus = status, None
    if substatus_id is None and "substatus_id" in values:
        after.substatus = None
    elif substatus_id is not None:
        substatus = TicketSubstatus.objects.select_related("status").filter(pk=substatus_id).first()
        if substatus is None or (status_id is not None and substatus.status != after.status):
            faults.append(Fault(ErrorCode.SUBSTATUS_NOT_FOUND, "substatus_id"))
        elif not substatus.status.meaning.is_choice and substatus.status != after.status:
            faults.append(Fault(ErrorCode.STATUS_MERGED_BY_HAND, "substatus_id"))
        else:
            after.status, after.substatus = substatus.status, substatus
