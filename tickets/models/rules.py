"""What a ticket may be given: one reading of ids and logins for those who open and those who edit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from callcentre.errors import ErrorCode, Fault
from telephony.models import Agent
from tickets.models.customer import Customer
from tickets.models.status import TicketCategory, TicketStatus, TicketSubstatus
from tickets.models.ticket_queue import TicketQueue


@dataclass(slots=True)
class Choice:
    """What a ticket has of others' rows."""

    status: TicketStatus | None = None
    substatus: TicketSubstatus | None = None
    queue: TicketQueue | None = None
    category: TicketCategory | None = None
    agent: Agent | None = None
    customer: Customer | None = None


def choose(values: Mapping[str, Any], before: Choice, faults: list[Fault]) -> Choice:
    """The choice after these values; what is wrong is added to the faults. A name that is absent changes nothing.

    Another status clears the sub-status, unless one of it is given. A sub-status alone brings its status along.
    """
    after = Choice(before.status, before.substatus, before.queue, before.category, before.agent, before.customer)
    _choose_status(values, after, faults)
    if (queue_id := values.get("queue_id")) is not None:
        after.queue = TicketQueue.objects.active().filter(pk=queue_id).first()
        if after.queue is None:
            faults.append(Fault(ErrorCode.TICKET_QUEUE_NOT_FOUND, "queue_id"))
    if (category_id := values.get("category_id")) is not None:
        after.category = TicketCategory.objects.filter(pk=category_id, is_active=True).first()
        if after.category is None:
            faults.append(Fault(ErrorCode.TICKET_CATEGORY_NOT_FOUND, "category_id"))
    if (customer_id := values.get("customer_id")) is not None:
        after.customer = Customer.objects.hold(customer_id)
        if after.customer is None:
            faults.append(Fault(ErrorCode.CUSTOMER_NOT_FOUND, "customer_id"))
    if login := values.get("agent_login"):
        after.agent = Agent.objects.active().filter(login=login).first()
        if after.agent is None:
            faults.append(Fault(ErrorCode.AGENT_NOT_FOUND, "agent_login"))
    return after


def _choose_status(values: Mapping[str, Any], after: Choice, faults: list[Fault]) -> None:
    status_id, substatus_id = values.get("status_id"), values.get("substatus_id")
    if status_id is not None:
        status = TicketStatus.objects.filter(pk=status_id).first()
        if status is None:
            faults.append(Fault(ErrorCode.TICKET_STATUS_NOT_FOUND, "status_id"))
        elif status.kind == TicketStatus.Kind.MERGED and status != after.status:
            faults.append(Fault(ErrorCode.STATUS_MERGED_BY_HAND, "status_id"))
        elif status != after.status:
            after.status, after.substatus = status, None
    if substatus_id is not None:
        substatus = TicketSubstatus.objects.select_related("status").filter(pk=substatus_id).first()
        if substatus is None or (status_id is not None and substatus.status != after.status):
            faults.append(Fault(ErrorCode.SUBSTATUS_NOT_FOUND, "substatus_id"))
        elif substatus.status.kind == TicketStatus.Kind.MERGED and substatus.status != after.status:
            faults.append(Fault(ErrorCode.STATUS_MERGED_BY_HAND, "substatus_id"))
        else:
            after.status, after.substatus = substatus.status, substatus
