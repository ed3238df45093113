"""Rows of one queue, campaign and group, for people whose scope holds them and for people whose scope does not.

Names and texts of these rows hold a word that no other row has, so a page that shows any of them is found.
"""

from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models import F, Model, Value
from django.db.models.functions import Concat

from callcentre.core.scope import DIMENSIONS, lookups_of, model_of
from callcentre.lists.models import ListAction, ListExport, SavedView
from callcentre.models import PersonExport, User
from callcentre.overview.models import Alarm
from campaigns.models import Attempt, Campaign, DiallingSwitch, DoNotCall, Record, RecordChange, RecordImport
from reports.models import Export, Schedule
from telephony.models import (
    Agent,
    AgentGroup,
    Connection,
    EvaluationCriterion,
    Offer,
    Queue,
    Recording,
    ScreenPop,
    TopicField,
    TopicGroup,
    Transcription,
    TransferShortcut,
)
from tests.admin_pages import Rows, addresses, routes, row_of_each_model
from tests.campaigns.factories import RecordFactory
from tests.rights.people import client_of, person
from tests.telephony.factories import AgentFactory, AgentGroupFactory, ConnectionFactory, QueueFactory
from tests.tickets.factories import TicketFactory
from tickets.models import (
    CannedReply,
    Chat,
    ChatMessage,
    Customer,
    Message,
    ReceivedMail,
    StoredFile,
    Ticket,
    TicketQueue,
)

# The word of the placed rows, and the beginning of it that is searched for, which pages repeat.
SECRET, ASKED = "vaultword", "vaultwor"
NAMED: dict[type[Model], str] = {
    AgentGroup: "name",
    Agent: "surname",
    Queue: "name",
    TicketQueue: "name",
    Campaign: "name",
    TopicGroup: "name",
    TopicField: "name",
    EvaluationCriterion: "name",
    TransferShortcut: "name",
    CannedReply: "name",
    Alarm: "name",
    Schedule: "name",
    Ticket: "subject",
    Message: "body",
    Chat: "client_name",
    ChatMessage: "body",
    StoredFile: "filename",
    ReceivedMail: "subject",
    Connection: "src",
    Attempt: "phone_number",
    Record: "phone_number",
    RecordImport: "file_name",
    DoNotCall: "phone_number",
    RecordChange: "from_status",
    DiallingSwitch: "reason",
    Recording: "name",
    User: "last_name",
}


# The columns of an export whose file is there.
FINISHED = {"state": "finished", "percent": 100}


class Scene:
    """The rows outside, a few rows inside, and the client of the person, who is an agent too."""

    def __init__(self, role: str = "Administrator") -> None:
        self.outside: Rows = placed_rows()
        self.group, self.queue = AgentGroupFactory(name="Own group"), QueueFactory(name="Own queue")
        customer: Any = self.outside[Customer]
        self.ticket = TicketFactory(subject="Own matter", queue__name="Own ticket queue", customer=customer)
        self.agent = AgentFactory(group=self.group, login="own-agent")
        self.call = ConnectionFactory(queue=self.queue, agent=self.agent, customer_id=customer.pk)
        self.record = RecordFactory(campaign__name="Own campaign", agent=self.agent)
        self.user = person(
            role,
            scope_ticket_queues=[self.ticket.queue_id],
            scope_call_queues=[self.queue.pk],
            scope_outbounds=[self.record.campaign_id],
            scope_agent_groups=[self.group.pk],
        )
        Agent.objects.filter(pk=self.agent.pk).update(user=self.user)
        # Logged in here, because each test rolls its own sessions back.
        self.client = client_of(self.user)
        self.client.raise_request_exception = False

    def pages_outside(self) -> list[str]:
        """Return each address of the rows outside that a scope narrows."""
        narrowed = [model for model in self.outside if lookups_of(model)]
        # A saved view of a list is no row of it.
        of_rows = [route for model in narrowed for route in routes(model) if "<" in route and "view_id" not in route]
        return addresses(self.outside, of_rows)


def placed_rows() -> Rows:
    """Write a row of each model that has an admin, with queue, campaign, group, the word and its file."""
    rows = row_of_each_model()
    _place(rows)
    _write_word()
    for row in rows.values():
        row.refresh_from_db()
    _write_files(rows)
    shared = {"user": rows[User], "name": "Shared", "is_shared": True}
    SavedView.objects.bulk_create(SavedView(list_name=model._meta.label_lower, **shared) for model in rows)
    return rows


def _place(rows: Rows) -> None:
    """Give all rows a queue, a campaign and a group, and join some to one customer."""
    group, queue, campaign = rows[AgentGroup], rows[Queue], rows[Campaign]
    customer: Any = rows[Customer]
    Customer.objects.filter(pk=customer.pk).update(email="shared@example.com")
    Agent.objects.update(group=group)
    Connection.objects.update(queue=queue, customer_id=customer.pk, src_number="+48700700700", src="+48700700700 ")
    Ticket.objects.update(customer=customer)
    Chat.objects.update(client_email="shared@example.com")
    for of_queue in (EvaluationCriterion, Offer, ScreenPop):
        of_queue._default_manager.update(queue=queue)
    TransferShortcut.objects.update(number="", queue=queue)
    CannedReply.objects.update(queue=rows[TicketQueue])
    ReceivedMail.objects.update(queue=rows[TicketQueue])
    for of_campaign in (DoNotCall, DiallingSwitch):
        of_campaign._default_manager.update(campaign=campaign)
    StoredFile.objects.update(message=Message.objects.filter(ticket=rows[Ticket]).first())
    Transcription.objects.update(parts=[{"begin": 0.0, "end": 1.0, "speaker": "USER", "text": SECRET}])


def _write_word() -> None:
    Export.objects.update(file="")
    for model, column in NAMED.items():
        model._default_manager.update(**{column: Concat(F(column), Value(f" {SECRET}"))})


def _write_files(rows: Rows) -> None:
    """Store the file of each row that names one, in the storage where its page looks for it."""
    for model in (Recording, Export, ListExport, PersonExport):
        row: Any = rows[model]
        name = row.file.name or f"exports/{model._meta.model_name}.csv"
        stored = row.file.storage.save(name, ContentFile(b"RIFF"))
        model._default_manager.filter(pk=row.pk).update(file=stored, **({} if model is Recording else FINISHED))
    given: Any = rows[RecordImport]
    errors = given.error_file.storage.save("imports/errors.csv", ContentFile(b"phone_number"))
    RecordImport.objects.filter(pk=given.pk).update(error_file=errors)
    mail: Any = rows[ReceivedMail]
    ReceivedMail.objects.filter(pk=mail.pk).update(
        path=default_storage.save(mail.path, ContentFile(b"To: us\n\nHello"))
    )


def scope_of_all(rows: Rows) -> dict[str, list[int]]:
    """Return the columns of a scope that holds each row there is. Stored scopes of rows become this one."""
    scope = {column: list(model_of(column)._default_manager.values_list("pk", flat=True)) for column in DIMENSIONS}
    for model in (Export, ListExport, ListAction):
        model._default_manager.update(**scope)
    User.objects.filter(pk=rows[User].pk).update(**scope)
    Schedule.objects.update(user=rows[User])
    return scope
