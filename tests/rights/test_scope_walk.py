"""A person with a scope at every address of the admin: rows outside it are missing, and appear nowhere.

Each model has a row whose queue, campaign and group are outside the scope. Names and texts of these rows hold a word
that no other row has, so a page that shows any of them is found.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.core.files.base import ContentFile
from django.db.models import F, Model, Value
from django.db.models.functions import Concat
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from callcentre.core.scope import lookups_of
from callcentre.models import User
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
    TopicField,
    TopicGroup,
    Transcription,
    TransferShortcut,
)
from tests.admin_pages import Rows, addresses, list_of, path_of, routes, row_of_each_model
from tests.backoffice import BackOffice, page_of
from tests.campaigns.factories import RecordFactory
from tests.conftest import kept_for_all
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

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("collected_static")]

# The word of the rows outside, and the beginning of it that is searched for, which pages repeat.
SEARCH = "/admin/search/"
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


class Scene:
    """The rows outside, a few rows inside, and the client of the person."""

    def __init__(self) -> None:
        self.outside: Rows = row_of_each_model()
        _put_outside(self.outside)
        self.group, self.queue = AgentGroupFactory(name="Own group"), QueueFactory(name="Own queue")
        customer: Any = self.outside[Customer]
        self.ticket = TicketFactory(subject="Own matter", queue__name="Own ticket queue", customer=customer)
        self.agent = AgentFactory(group=self.group, login="own-agent")
        self.call = ConnectionFactory(queue=self.queue, agent=self.agent, customer_id=customer.pk)
        self.record = RecordFactory(campaign__name="Own campaign", agent=self.agent)
        self.user = person(
            "Administrator",
            scope_ticket_queues=[self.ticket.queue_id],
            scope_call_queues=[self.queue.pk],
            scope_outbounds=[self.record.campaign_id],
            scope_agent_groups=[self.group.pk],
        )

    @property
    def client(self) -> BackOffice:
        client = client_of(self.user)
        client.raise_request_exception = False
        return client


def _put_outside(rows: Rows) -> None:
    """Give all rows a queue, a campaign and a group, join some to one customer, and write the word into them."""
    group, queue, campaign = rows[AgentGroup], rows[Queue], rows[Campaign]
    customer: Any = rows[Customer]
    Customer.objects.filter(pk=customer.pk).update(email="shared@example.com")
    Agent.objects.update(group=group)
    Connection.objects.update(queue=queue, customer_id=customer.pk, src_number="+48700700700", src="+48700700700 ")
    Ticket.objects.update(customer=customer)
    Chat.objects.update(client_email="shared@example.com")
    for of_queue in (EvaluationCriterion, Offer):
        of_queue._default_manager.update(queue=queue)
    TransferShortcut.objects.update(number="", queue=queue)
    CannedReply.objects.update(queue=rows[TicketQueue])
    ReceivedMail.objects.update(queue=rows[TicketQueue])
    for of_campaign in (DoNotCall, DiallingSwitch):
        of_campaign._default_manager.update(campaign=campaign)
    StoredFile.objects.update(message=Message.objects.filter(ticket=rows[Ticket]).first())
    Transcription.objects.update(parts=[{"begin": 0.0, "end": 1.0, "speaker": "USER", "text": SECRET}])
    Export.objects.update(file="")
    for model, column in NAMED.items():
        model._default_manager.update(**{column: Concat(F(column), Value(f" {SECRET}"))})
    for row in rows.values():
        row.refresh_from_db()
    recording: Any = rows[Recording]
    recording.file.storage.save(recording.file.name, ContentFile(b"RIFF"))


@pytest.fixture(scope="module")
def scene(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Scene]:
    made: list[Scene] = []
    with kept_for_all(django_db_blocker, lambda: made.append(Scene())):
        yield made[0]


def text_of(answer: Any) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode("utf-8", "replace"))


def leaks(scene: Scene, path: str, **query: Any) -> list[str]:
    """Return what an address shows of rows outside: the word, and links to their pages."""
    answer = scene.client.get(path, query)
    assert answer.status_code < 500, path
    page = text_of(answer)
    found = [SECRET] if SECRET in page else []
    # A page names its own address.
    return found + [url for url in _pages_outside(scene) if url != path and f'"{url}' in page]


def _pages_outside(scene: Scene) -> list[str]:
    return [page_of(row) for model, row in scene.outside.items() if lookups_of(model) and model is not Export]


def test_rows_outside_are_missing_at_each_address(scene: Scene) -> None:
    narrowed = {path_of(model) for model in scene.outside if lookups_of(model)}
    found = zip(routes(), addresses(scene.outside), strict=True)
    of_rows = [(route, path) for route, path in found if "<" in route and "/".join(route.split("/")[:2]) in narrowed]
    assert len(of_rows) > 100

    answers = {path: scene.client.get(path) for _route, path in of_rows}

    refused = (302, 403, 404, 405)
    assert {path: one.status_code for path, one in answers.items() if one.status_code not in refused} == {}
    # Django redirects from a row that is missing to the first page.
    away = {path: one["Location"] for path, one in answers.items() if one.status_code == 302}
    assert {path: to for path, to in away.items() if to not in ("/admin/", f"{path}change/")} == {}


def test_no_page_shows_a_row_outside(scene: Scene) -> None:
    paths = [*addresses(scene.outside), *map(reverse, ("overview", "wallboard", "desk"))]

    assert {path: found for path in paths if (found := leaks(scene, path))} == {}


def test_no_page_of_a_row_inside_shows_one_outside(scene: Scene) -> None:
    inside = [scene.ticket, scene.ticket.queue, scene.agent, scene.group, scene.queue, scene.call, scene.record]
    inside.append(scene.record.campaign)
    rows = scene.outside | {type(row): row for row in inside}

    pages = {path: scene.client.get(path).status_code for row in inside for path in [page_of(row)]}
    found = {path: found for path in addresses(rows) if (found := leaks(scene, path))}

    assert set(pages.values()) == {200}
    assert found == {}


@pytest.mark.parametrize("text", [ASKED, "+48700700700", "700700700"])
def test_no_search_finds_a_row_outside(scene: Scene, text: str) -> None:
    lists = [list_of(model) for model in admin.site._registry]
    found = {path: found for path in lists if (found := leaks(scene, path, q=text))}
    assert found == {}
    assert leaks(scene, SEARCH, q=text) == []
    assert leaks(scene, SEARCH, q=text, box="1") == []


def test_no_autocomplete_offers_a_row_outside(scene: Scene) -> None:
    asked = 0
    for model in admin.site._registry:
        for field in model._meta.get_fields():
            if not (field.many_to_one or field.many_to_many or field.one_to_one) or field.auto_created:
                continue
            names = {
                "app_label": model._meta.app_label,
                "model_name": str(model._meta.model_name),
                "field_name": field.name,
            }
            for term in ("", ASKED):
                answer = scene.client.get("/admin/autocomplete/", {**names, "term": term})
                asked += answer.status_code == 200
                assert SECRET not in answer.content.decode(), names
    assert asked > 20


def test_no_action_reaches_a_row_outside(scene: Scene) -> None:
    for model, row in scene.outside.items():
        if not lookups_of(model):
            continue
        model_admin: Any = admin.site._registry[model]
        before = type(row)._default_manager.filter(pk=row.pk).values().get()
        for action in [name for name in model_admin.actions or () if isinstance(name, str)]:
            answer = scene.client.post(list_of(model), {"action": action, "_selected_action": [row.pk], "index": "0"})
            assert answer.status_code < 500
            assert SECRET not in text_of(answer), (model, action)
        assert type(row)._default_manager.filter(pk=row.pk).values().get() == before


def test_the_report_has_agents_inside_only(scene: Scene) -> None:
    query = {"date_from": "2026-11-01", "date_to": "2026-11-23"}
    url = reverse("admin:reports_export_report")
    outside: Any = scene.outside[Agent]

    page = text_of(scene.client.get(url, query))
    refused = text_of(scene.client.get(url, {**query, "agent_logins[]": outside.login}))
    of_group = text_of(scene.client.get(url, {**query, "agent_group_ids[]": outside.group_id}))

    assert "own-agent" in page
    assert SECRET not in page + refused + of_group
    assert f">{outside.login}<" not in page + of_group


@pytest.mark.parametrize("name", ["ticket_queue", "queue"])
def test_a_posted_id_outside_is_refused(scene: Scene, name: str) -> None:
    if name == "ticket_queue":
        path, field, value = page_of(scene.ticket), "p-queue", scene.outside[TicketQueue].pk
        scene.client.submit(path, expected={200, 302, 400}, **{field: value, "do": "edit"})
        scene.ticket.refresh_from_db()
        assert scene.ticket.queue_id != value
    else:
        value = scene.outside[Queue].pk
        path = reverse("admin:tickets_chat_add")
        before = Chat.objects.count()
        scene.client.submit(path, expected=200, client_name="Eva", client_email="", queue=value)
        assert Chat.objects.count() == before


def test_new_queues_and_campaigns_would_be_outside_and_are_not_added(scene: Scene) -> None:
    for model in (Queue, Campaign, TicketQueue, AgentGroup):
        assert scene.client.get(f"{list_of(model)}add/").status_code == 403
