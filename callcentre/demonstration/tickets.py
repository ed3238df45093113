"""The demonstration of tickets: customers, 60 tickets of a month, chats. Each run creates the same rows, once."""

import random
from datetime import datetime, time, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from callcentre.core.changes import actor_columns
from callcentre.demonstration import DATA, add, data
from telephony.models import Agent, Connection, Queue
from tickets.file_storage import store
from tickets.mail_ids import new_header_id
from tickets.models import (
    BusinessCalendar,
    CalendarHours,
    CannedReply,
    Chat,
    ChatMessage,
    Company,
    Customer,
    CustomerNumber,
    CustomField,
    Dispatch,
    Macro,
    Message,
    Rating,
    Rule,
    ServiceLevel,
    StoredFile,
    Ticket,
    TicketCategory,
    TicketChange,
    TicketQueue,
    TicketStatus,
    TicketSubstatus,
    TicketType,
)
from tickets.models.ticket import REPLY_SOURCES
from tickets.verbs.customers import create_customer
from tickets.verbs.due_times import Kind, set_columns, status_comment, status_of_kind

CHAT_DAYS, A_DAY = 30, 3


@transaction.atomic
def _seed_chats(agents: list[Agent], conversations: list[list[str]], customers: list[list[str]]) -> None:
    """Add chats to a database without chats."""
    queue = Queue.objects.filter(name="Hotline").first()
    if queue is None or Chat.objects.exists():
        return
    chance = random.Random("a month of chats")  # noqa: S311  (a demonstration, no secret)
    chats: list[Chat] = []
    messages: list[ChatMessage] = []
    for position in range(CHAT_DAYS * A_DAY):
        agent, lines = agents[position % len(agents)], conversations[position % len(conversations)]
        number = position % len(customers)
        day = timezone.localdate() - timedelta(days=CHAT_DAYS - position // A_DAY)
        at = timezone.make_aware(datetime.combine(day, time(8))) + timedelta(seconds=chance.randrange(32_400))
        chat = Chat(
            client_name=" ".join(customers[number]),
            client_email=f"customer{number + 1}@client.example",
            queue=queue,
            created_at=at,
        )
        chats.append(chat)
        if position >= CHAT_DAYS * A_DAY - 2:  # no agent has taken these two yet
            messages.append(ChatMessage(chat=chat, body=lines[0], created_at=at))
            continue
        chat.agent, chat.assigned_at = agent, at + timedelta(seconds=chance.randrange(5, 60))
        for turn, line in enumerate(lines):
            at += timedelta(seconds=chance.randrange(10, 90) + 60 * (turn == 1))
            speaker = agent if turn % 2 else None
            messages.append(ChatMessage(chat=chat, agent=speaker, body=line, created_at=at))
            if speaker and chat.answered_at is None:
                chat.answered_at = at
        if position < CHAT_DAYS * A_DAY - 4:  # the last ones are still open
            chat.closed_at = at + timedelta(seconds=chance.randrange(5, 120))
    Chat.objects.bulk_create(chats)
    ChatMessage.objects.bulk_create(messages)


TICKETS, DAYS = 60, 30


def seed() -> None:
    """Create the rows that are missing, and tickets only in a database without tickets."""
    given = data("tickets")
    agents = list(Agent.objects.filter(login__in=[f"agent{n}" for n in range(1, 6)]).order_by("login"))
    fields = add(CustomField, given["custom_fields"], owner=CustomField.Owner.TICKET)
    _service_level()
    queues = [_queue(name, address) for name, address in given["queues"].items()]
    add(TicketCategory, [{"name": name} for name in sorted({matter["category"] for matter in given["matters"]})])
    for kind, rows in given["substatuses"].items():
        add(TicketSubstatus, rows, status=status_of_kind(Kind(kind)))
    add(CannedReply, given["canned_replies"])
    for model, rows in ((TicketType, "types"), (Macro, "macros"), (Rule, "rules")):
        add(model, given[rows])
    companies = add(Company, given["companies"])
    customers = [_customer(number, name, companies) for number, name in enumerate(given["customers"], start=1)]
    if not Ticket.objects.exists():
        _Month(agents, customers, queues, [str(field.pk) for field in fields]).play(given["matters"], given["sources"])
        _name_callers()
    _seed_chats(agents, given["chats"], given["customers"])


def _queue(name: str, address: str) -> TicketQueue:
    if (queue := TicketQueue.objects.filter(name=name).first()) is None:
        queue = TicketQueue.objects.create(
            name=name,
            address=address,
            sender_name=name,
            signature=f"<p>Kind regards<br>{name}</p>",
        )
    return queue


def _service_level() -> None:
    """Create a level that responds on weekdays within four hours and resolves within three days."""
    if ServiceLevel.objects.exists():
        return
    calendar = BusinessCalendar.objects.create(name="Office", country="PL")
    CalendarHours.objects.bulk_create(
        CalendarHours(calendar=calendar, weekday=day, opens_at=time(8), closes_at=time(18)) for day in range(1, 6)
    )
    ServiceLevel.objects.create(
        name="Standard",
        calendar=calendar,
        first_response_minutes=240,
        next_response_minutes=240,
        resolution_minutes=3 * 600,
    )


def _customer(number: int, name: list[str], companies: list[Company]) -> Customer:
    identifier = f"DEMO-C{number:02}"
    return Customer.objects.filter(identifier=identifier).first() or create_customer(
        SYSTEM,
        name=name[0],
        surname=name[1],
        identifier=identifier,
        email=f"customer{number}@client.example",
        phone_numbers=[f"+48 22 555 {2000 + number}"],
        # Two of three customers belong to a company.
        company_id=None if number % 3 == 0 else companies[number % 2].pk,
    )


def _name_callers() -> None:
    """Set the customers of the calls, which were made before there were customers."""
    for row in CustomerNumber.objects.order_by("id"):
        calls = Connection.objects.filter(Q(src_number=row.number) | Q(dst_number=row.number), customer_id=None)
        calls.update(customer_id=row.customer_id)


class _Month:
    """A month of tickets with their replies, comments, status changes and ratings."""

    def __init__(
        self, agents: list[Agent], customers: list[Customer], queues: list[TicketQueue], fields: list[str]
    ) -> None:
        self.agents, self.customers, self.queues, self.fields = agents, customers, queues, fields
        self.chance = random.Random("a month of tickets")  # noqa: S311  (a demonstration, no secret)
        # The first status of each kind; a kind may have none.
        self.statuses = {status.kind: status for status in TicketStatus.objects.order_by("-order", "-id")}
        self.categories = {category.name: category for category in TicketCategory.objects.all()}
        self.substatuses = {each.name: each for each in TicketSubstatus.objects.all()}

    @transaction.atomic
    def play(self, matters: list[dict[str, str]], sources: list[str]) -> None:
        tickets = [
            self._play(number, matters[number % len(matters)], sources[number % len(sources)])
            for number in range(TICKETS)
        ]
        for one, other in ((tickets[4], tickets[20]), (tickets[8], tickets[24])):
            one.connected_ids, other.connected_ids = [other.pk], [one.pk]
        Ticket.objects.bulk_update(tickets, ["connected_ids"])
        self._merge(tickets[46], tickets[30])

    def _play(self, number: int, matter: dict[str, str], source: str) -> Ticket:
        agent = self.agents[number % len(self.agents)]
        at = self._begin(number)
        is_old = number < TICKETS - 12
        is_untouched = number >= TICKETS - 6
        customer = self.customers[number % len(self.customers)]
        queue = self.queues[matter["category"] == "Complaints"]
        # Some tickets have one value, or none.
        values = [f"A-{1200 + number}", ("low", "normal", "high")[number % 3]]
        values = values[: 0 if number % 11 == 0 else 1 if number % 7 == 0 else 2]
        ticket = Ticket.objects.create(
            subject=matter["subject"],
            source=source,
            queue=queue,
            category=self.categories[matter["category"]],
            status=self.statuses[Kind.NEW],
            agent=None if is_untouched else agent,
            customer=customer,
            sender=customer.phone_numbers[0] if source in ("phone", "sms") else customer.email,
            sender_name=str(customer),
            tags=[matter["tag"]] if number % 2 else [matter["tag"], "demo"],
            custom_fields=dict(zip(self.fields, values, strict=False)),
            created_at=at,
            updated_at=at,
            awaiting_since=at,
        )
        question = self._say(ticket, at, "MAIL", body=matter["question"], author_name=str(customer))
        if number % 4 == 0:
            _attach(question, "parcel.png" if matter["category"] == "Complaints" else "order.pdf")
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

    def _work(self, ticket: Ticket, number: int, matter: dict[str, str], agent: Agent, *, is_old: bool) -> None:
        """Let the agent answer and the customer write again. Postpone or close old tickets."""
        at = ticket.created_at + timedelta(minutes=self.chance.randrange(10, 230))
        if number % 3 == 0:
            self._say(ticket, at - timedelta(minutes=5), "COMMENT", agent=agent, comment=matter["comment"])
        if ticket.source in REPLY_SOURCES:
            self._reply(ticket, at, agent, matter, number)
        else:
            comment = f"Told {ticket.customer} on the phone: {matter['answer']}"
            moved = self._move(ticket, Kind.IN_PROGRESS)
            self._say(ticket, at, "COMMENT", agent=agent, comment=comment, system_comment=moved, is_answer=True)
            ticket.awaiting_since = None
        if not is_old:
            return
        if number % 5 == 0:
            at += timedelta(hours=self.chance.randrange(2, 20))
            ticket.waits, ticket.awaiting_since = [*ticket.waits, at] if ticket.waits else [], at
            self._say(ticket, at, "MAIL", body=matter["thanks"], system_comment=self._move(ticket, Kind.NEW))
        if number % 8 == 7:
            moved = self._move(ticket, Kind.POSTPONED, "Waiting for the warehouse")
            self._say(ticket, at + timedelta(hours=1), "COMMENT", system_comment=moved)
        elif number % 9:
            at += timedelta(hours=self.chance.randrange(1, 20))
            self._close(ticket, at, agent, "Refused" if number % 10 == 3 else "Solved" if number % 2 else "")

    def _reply(self, ticket: Ticket, at: datetime, agent: Agent, matter: dict[str, str], number: int) -> None:
        is_mail = ticket.source == "email"
        body = f"<p>{matter['answer']}</p>" if is_mail else matter["answer"]
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
            _attach(reply, "label.pdf")
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


def _attach(message: Message, filename: str) -> None:
    with (DATA / filename).open("rb") as file:
        stored = store(file, (DATA / filename).stat().st_size)
    StoredFile.of(stored, filename, message=message, created_at=message.created_at).save(force_insert=True)
    Message.objects.filter(pk=message.pk).update(attachments=[stored.token])
