"""The demonstration of tickets: customers, 60 tickets of a month, chats. Each run creates the same rows, once."""

import random
from datetime import datetime, time, timedelta
from itertools import cycle
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from callcentre.core.changes import actor_columns
from telephony.models import Agent, Connection
from tickets import demo_chats
from tickets.demo_files import attach_file
from tickets.demo_texts import CANNED, CATEGORIES, CUSTOMERS, MATTERS, Matter
from tickets.mail_ids import new_header_id
from tickets.models import (
    CannedReply,
    Company,
    Customer,
    CustomerNumber,
    CustomField,
    Dispatch,
    Message,
    Rating,
    Ticket,
    TicketCategory,
    TicketChange,
    TicketQueue,
    TicketQueueHours,
    TicketSubstatus,
)
from tickets.models.ticket import REPLY_SOURCES
from tickets.verbs.customers import create_customer
from tickets.verbs.due_times import set_columns
from tickets.verbs.status_changes import Kind, status_comment, status_of_kind

TICKETS, DAYS = 60, 30
# The sources of a dozen tickets.
SOURCES = [
    *("email", "email", "www", "phone", "email", "marketplace_message"),
    *("chat", "email", "sms", "marketplace_dispute", "email", "www"),
]
COMPANIES = ["Baltic Furniture", "Green Garden"]
PRIORITIES = ["low", "normal", "high"]


def seed() -> None:
    """Create the rows that are missing, and tickets only in a database without tickets."""
    agents = list(Agent.objects.filter(login__in=[f"agent{n}" for n in range(1, 6)]).order_by("login"))
    fields = _fields()
    queues = _queues()
    for name in CATEGORIES:
        TicketCategory.objects.get_or_create(name=name)
    for kind, names in {Kind.CLOSED: ("Solved", "Refused"), Kind.POSTPONED: ("Waiting for the warehouse",)}.items():
        for place, name in enumerate(names, start=1):
            defaults = {"order": 10 * place}
            TicketSubstatus.objects.get_or_create(status=status_of_kind(kind), name=name, defaults=defaults)
    for name, body in CANNED:
        CannedReply.objects.get_or_create(name=name, defaults={"body": body})
    customers = _customers()
    if not Ticket.objects.exists():
        _Month(agents, customers, queues, fields).play()
        _name_callers()
    demo_chats.seed(agents)


def _fields() -> dict[str, str]:
    """Create the custom fields of tickets. Return name -> key."""
    values: dict[str, dict[str, Any]] = {
        "order_number": {"type": CustomField.Type.TEXT, "order": 10},
        "priority": {"type": CustomField.Type.CHOICE, "options": PRIORITIES, "order": 20},
    }
    owner = CustomField.Owner.TICKET
    return {
        name: str(CustomField.objects.get_or_create(owner=owner, name=name, defaults=defaults)[0].pk)
        for name, defaults in values.items()
    }


def _queues() -> list[TicketQueue]:
    """Create the two queues. On weekdays they respond within four hours and resolve within three days."""
    queues = []
    for name, address in (("Customer service", "service"), ("Complaints", "complaints")):
        queue, is_new = TicketQueue.objects.get_or_create(
            name=name,
            defaults={
                "address": f"{address}@callcentre.example",
                "sender_name": name,
                "signature": f"<p>Kind regards<br>{name}</p>",
                "first_response_minutes": 240,
                "resolution_minutes": 3 * 600,
            },
        )
        if is_new:
            TicketQueueHours.objects.bulk_create(
                TicketQueueHours(queue=queue, weekday=day, opens_at=time(8), closes_at=time(18)) for day in range(1, 6)
            )
        queues.append(queue)
    return queues


def _customers() -> list[Customer]:
    companies = [Company.objects.get_or_create(name=name)[0] for name in COMPANIES]
    found = []
    for number, (name, surname) in enumerate(CUSTOMERS, start=1):
        identifier = f"DEMO-C{number:02}"
        customer = Customer.objects.filter(identifier=identifier).first() or create_customer(
            SYSTEM,
            name=name,
            surname=surname,
            identifier=identifier,
            email=f"customer{number}@client.example",
            phone_numbers=[f"+48 22 555 {2000 + number}"],
            # Two of three customers belong to a company.
            company_id=None if number % 3 == 0 else companies[number % 2].pk,
        )
        found.append(customer)
    return found


def _name_callers() -> None:
    """Set the customers of the calls, which were made before there were customers."""
    for row in CustomerNumber.objects.order_by("id"):
        calls = Connection.objects.filter(Q(src_number=row.number) | Q(dst_number=row.number), customer_id=None)
        calls.update(customer_id=row.customer_id)


class _Month:
    """A month of tickets with their replies, comments, status changes and ratings."""

    def __init__(
        self, agents: list[Agent], customers: list[Customer], queues: list[TicketQueue], fields: dict[str, str]
    ) -> None:
        self.agents, self.customers, self.queues, self.fields = agents, customers, queues, fields
        self.chance = random.Random("a month of tickets")  # noqa: S311  (a demonstration, no secret)
        self.statuses = {kind: status_of_kind(kind) for kind in Kind.values}
        self.categories = {category.name: category for category in TicketCategory.objects.all()}
        self.substatuses = {each.name: each for each in TicketSubstatus.objects.all()}

    @transaction.atomic
    def play(self) -> None:
        tickets = []
        for number, (matter, source, agent) in enumerate(
            zip(cycle(MATTERS), cycle(SOURCES), cycle(self.agents), strict=False)
        ):
            if number == TICKETS:
                break
            tickets.append(self._play(number, matter, source, agent))
        for one, other in ((tickets[4], tickets[20]), (tickets[8], tickets[24])):
            one.connected_ids, other.connected_ids = [other.pk], [one.pk]
        Ticket.objects.bulk_update(tickets, ["connected_ids"])
        self._merge(tickets[46], tickets[30])

    def _play(self, number: int, matter: Matter, source: str, agent: Agent) -> Ticket:
        at = self._begin(number)
        is_old = number < TICKETS - 12
        is_untouched = number >= TICKETS - 6
        customer = self.customers[number % len(self.customers)]
        queue = self.queues[matter.category == "Complaints"]
        fields = {
            self.fields["order_number"]: f"A-{1200 + number}",
            self.fields["priority"]: PRIORITIES[number % len(PRIORITIES)],
        }
        ticket = Ticket.objects.create(
            subject=matter.subject,
            source=source,
            queue=queue,
            category=self.categories[matter.category],
            status=self.statuses[Kind.NEW],
            agent=None if is_untouched else agent,
            customer=customer,
            sender=customer.phone_numbers[0] if source in ("phone", "sms") else customer.email,
            sender_name=str(customer),
            tags=[matter.tag] if number % 2 else [matter.tag, "demo"],
            # Some tickets have one value, or none.
            custom_fields={} if number % 11 == 0 else dict(list(fields.items())[: 1 if number % 7 == 0 else 2]),
            created_at=at,
            updated_at=at,
            awaiting_since=at,
        )
        question = self._say(ticket, at, "MAIL", body=matter.question, author_name=str(customer))
        if number % 4 == 0:
            attach_file(question, "parcel.png" if matter.category == "Complaints" else "order.pdf")
        if not is_untouched:
            self._work(ticket, number, matter, agent, is_old=is_old)
        if len(ticket.waits) % 2 and ticket.status.kind != Kind.WAITING_FOR_CUSTOMER:
            ticket.waits = [*ticket.waits, ticket.updated_at]
        set_columns(ticket, {"waits": ticket.waits})
        ticket.save()
        TicketChange.objects.create(ticket=ticket, action="create", **actor_columns(SYSTEM))
        return ticket

    def _begin(self, number: int) -> datetime:
        """Return the time of opening: two tickets a day, in working hours, the last ones yesterday."""
        day = timezone.localdate() - timedelta(days=DAYS - number * DAYS // TICKETS)
        begin = timezone.make_aware(datetime.combine(day, time(8)))
        return begin + timedelta(seconds=(number % 2) * 14_400 + self.chance.randrange(14_400))

    def _work(self, ticket: Ticket, number: int, matter: Matter, agent: Agent, *, is_old: bool) -> None:
        """Let the agent answer and the customer write again. Postpone or close old tickets."""
        at = ticket.created_at + timedelta(minutes=self.chance.randrange(10, 230))
        if number % 3 == 0:
            self._say(ticket, at - timedelta(minutes=5), "COMMENT", agent=agent, comment=matter.comment)
        if ticket.source in REPLY_SOURCES:
            self._reply(ticket, at, agent, matter, number)
        else:
            comment = f"Told {ticket.customer} on the phone: {matter.answer}"
            moved = self._move(ticket, Kind.IN_PROGRESS)
            self._say(ticket, at, "COMMENT", agent=agent, comment=comment, system_comment=moved, is_answer=True)
            ticket.awaiting_since = None
        if not is_old:
            return
        if number % 5 == 0:
            at += timedelta(hours=self.chance.randrange(2, 20))
            ticket.waits, ticket.awaiting_since = [*ticket.waits, at] if ticket.waits else [], at
            self._say(ticket, at, "MAIL", body=matter.thanks, system_comment=self._move(ticket, Kind.NEW))
        if number % 8 == 7:
            moved = self._move(ticket, Kind.POSTPONED, "Waiting for the warehouse")
            self._say(ticket, at + timedelta(hours=1), "COMMENT", system_comment=moved)
        elif number % 9:
            at += timedelta(hours=self.chance.randrange(1, 20))
            self._close(ticket, at, agent, "Refused" if number % 10 == 3 else "Solved" if number % 2 else "")

    def _reply(self, ticket: Ticket, at: datetime, agent: Agent, matter: Matter, number: int) -> None:
        is_mail = ticket.source == "email"
        body = f"<p>{matter.answer}</p>" if is_mail else matter.answer
        reply = self._say(
            ticket,
            at,
            "REPLY",
            agent=agent,
            body=body,
            body_type="HTML" if is_mail else "PLAIN",
            system_comment=self._move(ticket, Kind.WAITING_FOR_CUSTOMER),
        )
        ticket.first_agent_responded_at = at
        ticket.waits, ticket.awaiting_since = [at], None
        Dispatch.objects.create(
            message=reply,
            source=ticket.source,
            state=Dispatch.State.SENT,
            recipients=[ticket.sender] if is_mail else [],
            header_id=new_header_id(reply) if is_mail else "",
            queued_at=at,
            attempt_count=1,
            sent_at=at + timedelta(seconds=2),
        )
        if number % 6 == 1:
            attach_file(reply, "label.pdf")
        if number % 7 == 4:
            rating = Rating.objects.create(message=reply, value=3 + number % 3, given_at=at + timedelta(hours=1))
            Message.objects.filter(pk=reply.pk).update(ratings=[rating.value])

    def _close(self, ticket: Ticket, at: datetime, agent: Agent, substatus: str) -> None:
        ticket.closed_at, ticket.closed_by = at, agent
        self._say(ticket, at, "COMMENT", system_comment=self._move(ticket, Kind.CLOSED, substatus))

    def _move(self, ticket: Ticket, kind: str, substatus: str = "") -> str:
        """Set the status. Return the comment about it, or "" if the ticket has that status already."""
        before = ticket.full_status_name
        ticket.status, ticket.substatus = self.statuses[kind], self.substatuses.get(substatus)
        after = ticket.full_status_name
        return "" if after == before else status_comment(before, after)

    def _say(self, ticket: Ticket, at: datetime, kind: str, **values: Any) -> Message:
        ticket.updated_at = max(ticket.updated_at, at)
        values.setdefault("body_type", "PLAIN")
        values.setdefault("created_at", at)
        if "agent" in values:
            values["author_name"] = values["agent"].full_name
        return Message.objects.create(ticket=ticket, type=kind, **values)

    def _merge(self, source: Ticket, target: Ticket) -> None:
        """Merge a ticket into another one, as if the customer had written a second time."""
        at = max(source.updated_at, target.updated_at) + timedelta(minutes=5)
        Message.objects.filter(ticket=source).update(ticket=target)
        source.merged_into, source.closed_at, source.closed_by = target, source.closed_at or at, source.agent
        self._say(source, at, "COMMENT", system_comment=self._move(source, Kind.MERGED))
        source.save()
        Ticket.objects.filter(pk=target.pk).update(updated_at=at)
