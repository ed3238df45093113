"""Factories of the tickets app. Each makes a valid row; traits name states."""

from collections.abc import Sequence
from datetime import date, time, timedelta
from hashlib import sha256
from typing import Any

import factory
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core.phone import normalise
from tests.callcentre.factories import UserFactory
from tests.model_factory import ModelFactory
from tests.telephony.factories import AgentFactory, QueueFactory
from tickets.file_storage import type_of
from tickets.models import (
    AcknowledgedAddress,
    AgentPreferences,
    AutomationState,
    BlockedSender,
    BouncedAddress,
    BusinessCalendar,
    CalendarHours,
    CannedReply,
    Chat,
    ChatMessage,
    ClosedDay,
    Company,
    Customer,
    CustomerChange,
    CustomerNote,
    CustomerNumber,
    CustomerSettings,
    CustomField,
    DeadlineNotice,
    Dispatch,
    Macro,
    MailboxGrant,
    MailboxTest,
    Marketplace,
    Message,
    Notice,
    Rating,
    ReceivedMail,
    Rule,
    RuleRun,
    ServiceLevel,
    StoredFile,
    Team,
    TeamMember,
    Ticket,
    TicketCategory,
    TicketChange,
    TicketCount,
    TicketDraft,
    TicketFollower,
    TicketQueue,
    TicketStatus,
    TicketSubstatus,
    TicketType,
)


def factory_of(model, **values):
    """Build the factory of a model whose rows have no traits."""
    return factory.make_factory(model, FACTORY_CLASS=factory.django.DjangoModelFactory, **values)


TeamFactory = factory_of(Team, name=factory.Sequence(lambda n: f"Team {n}"))
TeamMemberFactory = factory_of(TeamMember, team=factory.SubFactory(TeamFactory), agent=factory.SubFactory(AgentFactory))


class TicketQueueFactory(ModelFactory[TicketQueue]):
    name = factory.Sequence(lambda n: f"Ticket queue {n}")

    class Params:
        with_mailbox = factory.Trait(
            imap_host="imap.callcentre.example", imap_user="support", imap_password="of the mailbox"
        )
        polled = factory.Trait(with_mailbox=True, polled_at=factory.LazyFunction(timezone.now))


MailboxGrantFactory = factory_of(
    MailboxGrant, queue=factory.SubFactory(TicketQueueFactory, with_mailbox=True), refresh_token="refresh"
)
BlockedSenderFactory = factory_of(BlockedSender, entry=factory.Sequence(lambda n: f"spam{n}.example"), blocked_by="eva")
BouncedAddressFactory = factory_of(
    BouncedAddress,
    address=factory.Sequence(lambda n: f"gone{n}@client.example"),
    bounced_at=factory.LazyFunction(timezone.now),
)
MailboxTestFactory = factory_of(
    MailboxTest,
    queue=factory.SubFactory(TicketQueueFactory, with_mailbox=True),
    asked_by="tester",
    asked_at=factory.LazyFunction(timezone.now),
)
BusinessCalendarFactory = factory_of(BusinessCalendar, name=factory.Sequence(lambda n: f"Calendar {n}"))
CalendarHoursFactory = factory_of(
    CalendarHours,
    calendar=factory.SubFactory(BusinessCalendarFactory),
    weekday=1,
    opens_at=time(8),
    closes_at=time(16),
)
ClosedDayFactory = factory_of(ClosedDay, calendar=factory.SubFactory(BusinessCalendarFactory), day=date(2026, 11, 23))
ServiceLevelFactory = factory_of(ServiceLevel, name=factory.Sequence(lambda n: f"Level {n}"))


def levelled_queue(
    first_response_minutes: int | None = 60,
    resolution_minutes: int | None = 600,
    hours: Sequence[tuple[int, time, time]] = (),
    **values: Any,
) -> TicketQueue:
    """A ticket queue whose tickets have a service level of their own, with these hours of work."""
    queue: TicketQueue = TicketQueueFactory(**values)
    calendar = BusinessCalendarFactory() if hours else None
    for weekday, opens_at, closes_at in hours:
        CalendarHoursFactory(calendar=calendar, weekday=weekday, opens_at=opens_at, closes_at=closes_at)
    ServiceLevelFactory(
        conditions=[{"name": "queue", "operator": "is", "values": [str(queue.pk)]}],
        calendar=calendar,
        first_response_minutes=first_response_minutes,
        next_response_minutes=first_response_minutes,
        resolution_minutes=resolution_minutes,
    )
    return queue


CompanyFactory = factory_of(Company, name=factory.Sequence(lambda n: f"Company {n}"))


class CustomerSettingsFactory(ModelFactory[CustomerSettings]):
    """The only row, which a migration has written."""

    class Meta:
        model = CustomerSettings
        django_get_or_create = ("pk",)

    pk = 1
    creates_unknown = True


class CustomerFactory(ModelFactory[Customer]):
    """A customer; `phone_numbers` may be in any spelling."""

    surname = factory.Sequence(lambda n: f"Customer {n}")

    class Params:
        of_company = factory.Trait(company=factory.SubFactory(CompanyFactory))

    @factory.post_generation
    def phone_numbers(self, create, extracted, **kwargs):
        for phone_number in extracted or ():
            CustomerNumberFactory(customer=self, phone_number=phone_number)


CustomerNumberFactory = factory_of(
    CustomerNumber,
    customer=factory.SubFactory(CustomerFactory),
    phone_number=factory.Sequence(lambda n: f"+48 22 {n:07}"),
    number=factory.LazyAttribute(lambda row: normalise(row.phone_number)),
)
CustomerNoteFactory = factory_of(
    CustomerNote,
    customer=factory.SubFactory(CustomerFactory),
    author_name="Anna Nowak",
    message="Prefers to be called in the morning.",
)
CustomerChangeFactory = factory_of(
    CustomerChange,
    customer=factory.SubFactory(CustomerFactory),
    actor_kind="user",
    actor_name="tester",
    action="edit",
    changes={"surname": ["Nowak", "Kowalska"]},
)


class CustomFieldFactory(ModelFactory[CustomField]):
    owner = CustomField.Owner.TICKET
    name = factory.Sequence(lambda n: f"field_{n}")

    class Params:
        of_customers = factory.Trait(owner=CustomField.Owner.CUSTOMER)
        choice = factory.Trait(type=CustomField.Type.CHOICE, options=["low", "high"])


TicketStatusFactory = factory_of(
    TicketStatus, name=factory.Sequence(lambda n: f"Status {n}"), kind=TicketStatus.Kind.IN_PROGRESS
)
TicketSubstatusFactory = factory_of(
    TicketSubstatus, status=factory.SubFactory(TicketStatusFactory), name=factory.Sequence(lambda n: f"Sub-status {n}")
)
TicketTypeFactory = factory_of(TicketType, name=factory.Sequence(lambda n: f"Type {n}"))
TicketCategoryFactory = factory_of(TicketCategory, name=factory.Sequence(lambda n: f"Category {n}"))


class TicketFactory(ModelFactory[Ticket]):
    subject = factory.Sequence(lambda n: f"Matter {n}")
    source = "email"
    sender = "jan@client.example"
    queue = factory.SubFactory(TicketQueueFactory)
    status = factory.LazyFunction(lambda: TicketStatus.objects.get(kind="new"))
    created_at = factory.LazyFunction(timezone.now)
    awaiting_since = factory.LazyAttribute(lambda new: None if new.first_agent_responded_at else new.created_at)
    first_agent_responded_at = None

    class Params:
        of_customer = factory.Trait(customer=factory.SubFactory(CustomerFactory))
        assigned = factory.Trait(agent=factory.SubFactory(AgentFactory))
        closed = factory.Trait(
            status=factory.LazyFunction(lambda: TicketStatus.objects.get(kind="closed")),
            closed_at=factory.LazyFunction(timezone.now),
        )
        overdue = factory.Trait(
            response_due_at=factory.LazyFunction(lambda: timezone.now() - timedelta(hours=1)),
            resolution_due_at=factory.LazyFunction(lambda: timezone.now() - timedelta(minutes=30)),
        )


TicketChangeFactory = factory_of(
    TicketChange, ticket=factory.SubFactory(TicketFactory), actor_kind="user", actor_name="tester", action="create"
)


class TicketCountFactory(ModelFactory[TicketCount]):
    class Meta:
        model = TicketCount
        django_get_or_create = ("slot",)

    slot = 1


class MessageFactory(ModelFactory[Message]):
    ticket = factory.SubFactory(TicketFactory)
    type = Message.Type.MAIL
    author_name = "Jan Kowal"
    author_address = "jan@client.example"
    body = "<p>Where is my parcel?</p>"

    class Params:
        reply = factory.Trait(
            type=Message.Type.REPLY,
            agent=factory.SubFactory(AgentFactory),
            author_name="Anna Nowak",
            author_address="",
            body="<p>It is on its way.</p>",
        )
        comment_of_agent = factory.Trait(
            type=Message.Type.COMMENT,
            agent=factory.SubFactory(AgentFactory),
            author_name="Anna Nowak",
            author_address="",
            body="",
            comment="<p>I have asked the carrier.</p>",
        )


class DispatchFactory(ModelFactory[Dispatch]):
    message = factory.SubFactory(MessageFactory, reply=True)
    recipients = ["jan@client.example"]
    header_id = factory.Sequence(lambda n: f"{n}.message@callcentre.example")
    next_attempt_at = factory.LazyFunction(timezone.now)

    class Params:
        sent = factory.Trait(
            state=Dispatch.State.SENT,
            next_attempt_at=None,
            attempt_count=1,
            sent_at=factory.LazyFunction(timezone.now),
        )
        failed = factory.Trait(
            state=Dispatch.State.FAILED,
            next_attempt_at=None,
            attempt_count=1,
            error="550 mailbox unavailable",
        )
        unknown = factory.Trait(
            failed=True,
            is_unknown=True,
            begun_at=factory.LazyFunction(timezone.now),
            error="outcome unknown",
        )


class ReceivedMailFactory(ModelFactory[ReceivedMail]):
    sha256 = factory.Sequence(lambda n: f"{n:064x}")
    sender = "jan@client.example"
    subject = factory.Sequence(lambda n: f"Mail {n}")
    path = factory.LazyAttribute(lambda mail: f"files/2026/01/01/{mail.sha256}")
    size = 1000

    class Params:
        quarantined = factory.Trait(outcome=ReceivedMail.Outcome.QUARANTINED, reason="a bounce of no mail of ours")
        stored = factory.Trait(outcome=ReceivedMail.Outcome.STORED, message=factory.SubFactory(MessageFactory))


class StoredFileFactory(ModelFactory[StoredFile]):
    """A file with its content in the storage; temporary, unless it has a message."""

    token = factory.Sequence(lambda n: f"token-{n}")
    filename = "invoice.pdf"
    content_type = factory.LazyAttribute(lambda file: type_of(file.filename))
    size = factory.LazyAttribute(lambda file: len(file.content))
    sha256 = factory.LazyAttribute(lambda file: sha256(file.content).hexdigest())
    path = factory.LazyAttribute(lambda file: default_storage.save(f"files/{file.token}", ContentFile(file.content)))

    class Params:
        content = b"abc"
        attached = factory.Trait(message=factory.SubFactory(MessageFactory))


CannedReplyFactory = factory_of(
    CannedReply, name=factory.Sequence(lambda n: f"Canned reply {n}"), body="<p>Thank you for your patience.</p>"
)
MarketplaceFactory = factory_of(Marketplace, source="marketplace_message", url="https://marketplace.example/replies")
RatingFactory = factory_of(Rating, message=factory.SubFactory(MessageFactory, reply=True), value=5)


class ChatFactory(ModelFactory[Chat]):
    client_name = "Jan Kowal"
    client_email = "jan@client.example"
    queue = factory.SubFactory(QueueFactory)

    class Params:
        assigned = factory.Trait(agent=factory.SubFactory(AgentFactory), assigned_at=factory.LazyFunction(timezone.now))
        closed = factory.Trait(closed_at=factory.LazyFunction(timezone.now))


ChatMessageFactory = factory_of(ChatMessage, chat=factory.SubFactory(ChatFactory), body="Is anybody there?")
AcknowledgedAddressFactory = factory_of(
    AcknowledgedAddress,
    address=factory.Sequence(lambda n: f"client-{n}@client.example"),
    acknowledged_at=factory.LazyFunction(timezone.now),
)


class RuleFactory(ModelFactory[Rule]):
    name = factory.Sequence(lambda n: f"Rule {n}")
    events = factory.LazyFunction(lambda: ["changed"])
    actions = factory.LazyFunction(lambda: {"add_tags": ["ruled"]})

    class Params:
        timed = factory.Trait(events=[], anchor="created_at", after_minutes=60)


MacroFactory = factory_of(
    Macro, name=factory.Sequence(lambda n: f"Macro {n}"), actions=factory.LazyFunction(lambda: {"priority": "high"})
)
RuleRunFactory = factory_of(
    RuleRun,
    rule=factory.SubFactory(RuleFactory),
    ticket=factory.SubFactory(TicketFactory),
    anchored_at=factory.LazyFunction(timezone.now),
)
TicketDraftFactory = factory_of(
    TicketDraft,
    ticket=factory.SubFactory(TicketFactory),
    user=factory.SubFactory(UserFactory),
    kind="reply",
    text="<p>Dear</p>",
    body_type="HTML",
)
AutomationStateFactory = factory_of(AutomationState, pk=1)
DeadlineNoticeFactory = factory_of(
    DeadlineNotice,
    ticket=factory.SubFactory(TicketFactory),
    deadline="response_due_at",
    is_missed=True,
    due_at=factory.LazyFunction(timezone.now),
)
AgentPreferencesFactory = factory_of(AgentPreferences, agent=factory.SubFactory(AgentFactory))
TicketFollowerFactory = factory_of(
    TicketFollower, ticket=factory.SubFactory(TicketFactory), agent=factory.SubFactory(AgentFactory)
)
NoticeFactory = factory_of(
    Notice,
    agent=factory.SubFactory(AgentFactory, email="anna@us.example"),
    ticket=factory.SubFactory(TicketFactory),
    kind="mentioned",
    key=factory.Sequence(lambda n: f"comment-{n}"),
    actor_name="Maria Lis",
)
