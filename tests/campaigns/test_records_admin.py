"""The list of records in the admin: search, filters, actions, permissions; the list of changes."""

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from campaigns.admin.records import STATUS_COLOURS, RecordAdmin
from campaigns.models import Record, RecordChange, SystemStatus
from tests.backoffice import errors_of, messages_of, page_of, shown, superuser
from tests.campaigns.api_calls import status_of
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, RecordFactory
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory

LIST = reverse("admin:campaigns_record_changelist")
ADD = reverse("admin:campaigns_record_add")
CHANGES = reverse("admin:campaigns_recordchange_changelist")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


# Finding


@pytest.mark.parametrize("spelling", ["+48 22 555 01 07", "225550107", "0048-22-555-0107", "tel:+48-22-555-01-07"])
def test_a_record_is_found_by_any_spelling_of_its_number_in_all_campaigns_or_the_chosen_one(spelling):
    first = RecordFactory(phone_number="22 555 01 07")
    second = RecordFactory(phone_number="+48225550107")
    other = RecordFactory(phone_number="+48225550108")
    client = superuser()

    assert shown(client.page(LIST, q=spelling), first, second, other) == [first, second]
    of_one = client.page(LIST, q=spelling, campaign__id__exact=first.campaign_id)
    assert shown(of_one, first, second, other) == [first]


def test_a_search_finds_duplicates_additional_numbers_and_identifiers():
    record = RecordFactory(phone_number="+48225550107")
    duplicate = RecordFactory(campaign=record.campaign, phone_number="+48225550107", duplicate=True)
    further = AdditionalNumberFactory(phone_number="22 555 01 07").record
    named = RecordFactory(identifier="225550107")

    page = superuser().page(LIST, q="225550107")

    assert shown(page, record, duplicate, further, named) == [record, duplicate, further, named]


def test_records_are_filtered_by_campaign_status_and_agent():
    agent = AgentFactory()
    mine = RecordFactory(of_agent=True, agent=agent)
    of_another = RecordFactory(campaign=mine.campaign, of_agent=True)
    to_call = RecordFactory(campaign=mine.campaign)
    elsewhere = RecordFactory(of_agent=True)
    client, everything = superuser(), (mine, of_another, to_call, elsewhere)

    found = [
        shown(client.page(LIST, **filters), *everything)
        for filters in (
            {"campaign__id__exact": mine.campaign_id},
            {"system_status": "MY_RECORD"},
            {"agent__id__exact": agent.pk},
            {"campaign__id__exact": mine.campaign_id, "system_status": "MY_RECORD"},
        )
    ]

    assert found == [[mine, of_another, to_call], [mine, of_another, elsewhere], [mine], [mine, of_another]]


@pytest.mark.parametrize(("filters", "queries"), [({}, 3), ({"q": "225550107"}, 5), ({"system_status": "TO_CALL"}, 4)])
def test_queries_of_the_list_do_not_grow_with_records(filters, queries):
    for record in RecordFactory.create_batch(60, campaign=CampaignFactory()):
        AdditionalNumberFactory(record=record, phone_number="225550107")
    client = superuser()

    with few_statements(queries):
        client.page(LIST, **filters)


def statements_of(order: str) -> list[str]:
    """Return the statements about records of the list in this order."""
    client = superuser()
    with CaptureQueriesContext(connection) as captured:
        client.page(LIST, **({"o": order} if order else {}))
    return [query["sql"].lower() for query in captured if "campaigns_record" in query["sql"]]


def test_the_list_counts_no_records_but_a_limited_number_before_it_sorts_them():
    RecordFactory.create_batch(3)

    unsorted = statements_of("")
    count, rows = statements_of("1")

    assert unsorted
    assert not any("count(" in sql for sql in unsorted)
    assert all('order by "campaigns_record"."id" desc' in sql for sql in unsorted)
    assert "count(" in count
    assert "limit 10001" in count
    assert 'order by "campaigns_record"."phone_number" asc' in rows


@pytest.mark.parametrize("filters", [{}, {"system_status": "TO_CALL"}])
def test_the_list_shows_that_there_are_more_pages_without_a_count(monkeypatch, filters):
    monkeypatch.setattr(RecordAdmin, "list_per_page", 2)
    campaigns = CampaignFactory.create_batch(2)
    records = [RecordFactory(campaign=campaigns[number % 2]) for number in range(5)]
    client = superuser()

    pages = [client.page(LIST, **filters, p=page) for page in (1, 2, 3)]

    assert [shown(page, *records) for page in pages] == [records[3:], records[1:3], records[:1]]
    assert "1 to 2, and more" in " ".join(pages[0].split())
    assert "5 to 5" in pages[2]
    assert "and more" not in pages[2]


# Many at once


def test_the_status_of_many_records_is_set_at_once():
    records = RecordFactory.create_batch(40, campaign=CampaignFactory())
    done = status_of(records[0].campaign, SystemStatus.NO_CALL)
    client = superuser()

    asked = client.act(LIST, "set_status", *records)
    refused = client.act(LIST, "set_status", *records, status="", apply="1")
    assert (list(errors_of(refused)), RecordChange.objects.count()) == (["status"], 0)
    with few_statements(10):
        response = client.act(LIST, "set_status", *records, status=done.pk, apply="1")

    assert "40 records are selected." in asked.content.decode()
    assert messages_of(response) == ["40 records changed."]
    assert set(Record.objects.values_list("status", flat=True)) == {done.pk}
    assert RecordChange.objects.filter(action="edit", actor_kind="user").count() == 40


def test_records_of_several_campaigns_get_a_dictionary_status():
    records = RecordFactory.create_batch(2)
    entry = status_of(records[0].campaign, SystemStatus.NO_CALL).dictionary_status_id

    superuser().act(LIST, "set_status", *records, status=entry, apply="1")

    assert Record.objects.filter(status__campaign=F("campaign"), system_status="NO_CALL").count() == 2


def test_a_status_with_agent_and_time_takes_both_from_the_page():
    record, agent = RecordFactory(), AgentFactory()
    status = status_of(record.campaign, SystemStatus.MY_RECORD)
    values = {"agent": agent.pk, "next_call_at_0": "2026-12-24", "next_call_at_1": "10:30"}

    superuser().act(LIST, "set_status", record, status=status.pk, apply="1", **values)

    record.refresh_from_db()
    assert (record.system_status, record.agent) == ("MY_RECORD", agent)


def test_refused_records_are_named_with_the_reason():
    free = RecordFactory()
    busy = RecordFactory(campaign=free.campaign, in_live_call=True, phone_number="+48225550107")
    status = status_of(free.campaign, SystemStatus.NO_CALL)

    response = superuser().act(LIST, "set_status", free, busy, status=status.pk, apply="1")

    assert messages_of(response) == [
        "1 record changed.",
        "Not changed: +48225550107. The record is in a live call: it can be edited when the call has ended.",
    ]


def test_records_are_assigned_and_unassigned():
    records = RecordFactory.create_batch(2)
    agent = AgentFactory()
    client = superuser()

    client.act(LIST, "assign", *records, agent=agent.pk, apply="1")
    assigned = set(Record.objects.values_list("agent", flat=True))
    client.act(LIST, "assign", *records, agent="", apply="1")

    assert assigned == {agent.pk}
    assert set(Record.objects.values_list("agent", flat=True)) == {None}


def test_a_change_of_a_deleted_record_is_listed():
    record = RecordFactory()
    record.history.create(actor_kind="system", actor_name="system", action="edit", to_status="Done")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM campaigns_record WHERE id = %s", [record.pk])
    client = superuser()

    page = client.page(CHANGES)
    one = client.page(page_of(RecordChange.objects.get()))

    assert all(f"deleted ({record.pk})" in text for text in (page, one))
    assert "Done" in page


def test_the_status_not_to_call_is_not_shown_as_a_success():
    assert set(STATUS_COLOURS) == set(SystemStatus)
    assert STATUS_COLOURS[SystemStatus.NO_CALL] != "success"
