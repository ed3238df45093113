"""The lists of calls, and of what belongs to calls: their columns, their players, and the search for them."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from telephony.models import Connection, Recording, Transcription
from tests.backoffice import BackOffice, page_of, staff, superuser
from tests.callcentre.factories import UserFactory
from tests.campaigns.factories import AttemptFactory, CampaignFactory, RecordFactory
from tests.statements import few_statements
from tests.telephony.factories import (
    AgentFactory,
    ConnectionFactory,
    QueueFactory,
    RecordingFactory,
    TranscriptionFactory,
)
from tests.tickets.factories import CustomerFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

LISTS = {
    model: reverse(f"admin:telephony_{model._meta.model_name}_changelist")
    for model in (Connection, Recording, Transcription)
}
of_each_list = pytest.mark.parametrize("path", LISTS.values(), ids=[model.__name__ for model in LISTS])


def whole_call(**values: Any) -> Connection:
    """Return a call with a recording and a transcription."""
    call: Connection = ConnectionFactory(**values)
    RecordingFactory(connection=call, ready=True, seconds=84)
    TranscriptionFactory(connection=call, finished=True)
    return call


def calls_of(path: str, client: Any = None, **query: Any) -> list[int]:
    rows = (client or superuser()).get(path, query).context["cl"].result_list
    return [row.pk if isinstance(row, Connection) else row.connection_id for row in rows]


@pytest.fixture
def call():
    """A call that was recorded, among others."""
    campaign = CampaignFactory(code="T7007", name="Spring offer")
    call = whole_call(
        dst="+48 22 555 01 07",
        agent=AgentFactory(login="anna", name="Anna", surname="Żak", number="107"),
        customer_id=CustomerFactory(name="Jan", surname="Kowal", email="jan7@client.example", identifier="ERP-77").pk,
        campaign_id=campaign.pk,
        campaign_code="T7007",
    )
    AttemptFactory(connection=call, campaign=campaign, record=RecordFactory(), ended_at=call.ended_at)
    whole_call(agent=AgentFactory(name="Ewa"), queue=QueueFactory(), customer_id=CustomerFactory(name="Ewa").pk)
    whole_call()
    return call


@of_each_list
def test_calls_and_their_parts_are_found_and_named(path, call):
    of_queue, client = whole_call(queue=QueueFactory(name="Hotline"), inbound=True), superuser()
    texts = ["anna", "zak", "Jan Kowal", "jan7@", "ERP-77", "0107", "+48 22 555 01 07", "T7007", "spring", call.uid]

    found = {text: calls_of(path, client, q=text) for text in (*texts, "hotline", "nobody")}
    page = client.page(path, q="anna")

    assert found == {**{text: [call.pk] for text in texts}, "hotline": [of_queue.pk], "nobody": []}
    for text in ("anna", "Jan Kowal", "+48 22 555 01 07", "T7007 Spring offer"):
        assert text in page, text


@of_each_list
def test_a_search_finds_no_call_outside_the_scope(path, call):
    user = UserFactory(staff=True, scope_call_queues=[QueueFactory().pk], scope_agent_groups=[])
    rights = ("view_connection", "view_recording", "view_transcription")
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client = BackOffice()
    client.force_login(user)
    of_queue = whole_call(inbound=True, agent=AgentFactory(login="anna2"))

    assert of_queue.pk in calls_of(path, q="anna2")
    assert calls_of(path, client, q="anna2") == []


@of_each_list
def test_a_call_of_a_deleted_campaign_is_not_named_after_the_next_one_with_its_code(path):
    whole_call(campaign_id=7_000_077, campaign_code="T7007")
    CampaignFactory(code="T7007", name="Autumn offer")

    page = superuser().page(path)

    assert "T7007" in page
    assert "Autumn offer" not in page


def test_a_ready_recording_is_played_in_its_row_and_another_says_its_state(call):
    failed = RecordingFactory(state="failed", error="HTTP 404")
    ready = Recording.objects.get(connection=call)

    for model in (Connection, Recording):
        page = superuser().page(LISTS[model])

        assert f'href="{reverse("admin:telephony_recording_audio", args=[ready.pk])}"' in page
        assert ">1:24</a>" in page
        assert "failed: HTTP 404" in page
        assert reverse("admin:telephony_recording_audio", args=[failed.pk]) not in page


def test_a_viewer_of_calls_sees_no_recordings_in_their_list(call):
    assert "cc-play" not in staff("view_connection").page(LISTS[Connection])
    assert "cc-play" not in staff("view_connection").page(LISTS[Connection], cols="start,heard")


def test_an_unknown_caller_stands_once():
    number = "+48 22 555 01 07"
    customer = CustomerFactory(name="", surname=number, phone_numbers=[number])
    ConnectionFactory(inbound=True, src=number, customer_id=customer.pk)

    page = superuser().page(LISTS[Connection])

    assert page.count(number) == 1
    assert f'href="{page_of(customer)}"' in page


@of_each_list
@pytest.mark.parametrize("query", [{}, {"q": "anna"}])
def test_the_statements_do_not_grow_with_the_rows(path, query):
    agent, campaign = AgentFactory(login="anna"), CampaignFactory(code="T7007")
    client = superuser()
    for _ in range(30):
        whole_call(agent=agent, customer_id=CustomerFactory().pk, campaign_id=campaign.pk)

    with few_statements(9):
        assert len(calls_of(path, client, **query)) == 30
