"""The do-not-call list over the API."""

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone

from campaigns.dialling.choice import FOR_GOOD
from campaigns.models import DoNotCall, Record
from campaigns.verbs.do_not_call import NewEntry, add_entries
from tests.campaigns.api_calls import faults
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, DoNotCallFactory, RecordFactory
from tests.conftest import ACTOR
from tests.statements import few_statements

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ({"number": "22 555-01-17", "reason": "Asked by phone."}, ("+48225550117", False, None, "Asked by phone.")),
        *(
            ({"prefix": text, "outbound_id": "SPR26"}, ("+4870", True, "SPR26", ""))
            for text in ("+48 70", "0048 70", "4870")
        ),
    ],
)
def test_a_number_or_prefix_is_stored_in_its_normal_form(api, body, stored):
    CampaignFactory(code="SPR26")

    response = api.post("/api/do_not_call", body)

    entry = DoNotCall.objects.values_list("number", "is_prefix", "campaign__code", "reason").get()
    assert (response.status_code, response.json(), entry) == (201, {"id": DoNotCall.objects.get().pk}, stored)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["number"]),
        ({"number": "22 555 01 17", "prefix": "+48"}, ["prefix"]),
        ({"number": "call me"}, ["number"]),
        ({"prefix": "+0"}, ["prefix"]),
        ({"prefix": "abc"}, ["prefix"]),
        ({"number": "22 555 01 17", "outbound_id": "XXXXX"}, ["outbound_id"]),
        ({"number": "22 555 01 17", "since": "2030-01-02 00:00", "until": "2030-01-01 00:00"}, ["until"]),
        ({"number": "call me", "until": "2001-01-01 00:00"}, ["number", "until"]),
        ({"number": [], "since": "soon"}, ["number", "since"]),
    ],
)
def test_faults_name_their_fields(api, body, fields):
    assert {name for name, _ in faults(api.post("/api/do_not_call", body))} == set(fields)
    assert not DoNotCall.objects.exists()


def test_a_further_entry_of_a_number_extends_the_first_one(api):
    first = api.post("/api/do_not_call", {"number": "22 555 01 17", "until": "2030-01-01 00:00"}).json()
    later = api.post("/api/do_not_call", {"number": "+48225550117", "until": "2031-01-01 00:00", "reason": "B"})
    earlier = api.post("/api/do_not_call", {"number": "+48225550117", "until": "2029-01-01 00:00"})

    assert later.json() == earlier.json() == first
    entry = DoNotCall.objects.get()
    assert (entry.until and timezone.localtime(entry.until).year, entry.reason) == (2031, "B")

    api.post("/api/do_not_call", {"number": "+48225550117"})
    assert DoNotCall.objects.get().until is None


def test_the_list_shows_numbers_and_prefixes(api):
    since = datetime(2026, 3, 2, 7, 15, tzinfo=UTC)
    campaign = CampaignFactory(code="SPR26")
    one = DoNotCallFactory(phone_number="22 555 01 17", since=since, campaign=campaign, reason="Asked.")
    two = DoNotCallFactory(
        phone_number="+48 70", number="+4870", is_prefix=True, since=since, until=since.replace(day=3)
    )

    names = ("id", "number", "prefix", "outbound_id", "reason", "since", "until")
    rows = [
        (one.pk, "22 555 01 17", "", "SPR26", "Asked.", "2026-03-02 08:15", ""),
        (two.pk, "", "+48 70", None, "", "2026-03-02 08:15", "2026-03-03 08:15"),
    ]
    result = [dict(zip(names, row, strict=True)) for row in rows]
    assert api.get("/api/do_not_call").json() == {"count": 2, "result": result}


def test_the_list_is_filtered_by_a_number_in_any_spelling(api):
    campaign = CampaignFactory(code="SPR26")
    own = DoNotCallFactory(phone_number="+48 70 055 01 17")
    prefix = DoNotCallFactory(phone_number="+48 70", number="+4870", is_prefix=True, campaign=campaign)
    DoNotCallFactory(number="+4870055")
    DoNotCallFactory()

    def found(query):
        return [entry["id"] for entry in api.get(f"/api/do_not_call?{query}").json()["result"]]

    assert found(f"number={quote('700 550 117')}") == [own.pk, prefix.pk]
    assert found("outbound_id=SPR26") == [prefix.pk]
    assert api.get("/api/do_not_call?number=abc").json()["errors"][0]["field"] == "number"


def test_a_batch_answers_for_each_item(api):
    CampaignFactory(code="SPR26")
    items = [
        {"number": "+48 22 555 01 17", "outbound_id": "SPR26"},
        {"number": "22 555 01 17"},
        {"number": "+48225550117"},
        {"prefix": "+4870"},
        {"number": "nobody"},
        {},
    ]

    with few_statements(4):
        response = api.post("/api/batch/do_not_call", {"entries": items})

    assert response.status_code == 207
    answer = response.json()
    of_all = DoNotCall.objects.get(number="+48225550117", campaign=None).pk
    assert answer["+48 22 555 01 17"] == {"http_status": 201, "id": DoNotCall.objects.get(campaign__code="SPR26").pk}
    assert answer["22 555 01 17"] == answer["+48225550117"] == {"http_status": 201, "id": of_all}
    assert answer["+4870"]["http_status"] == 201
    assert answer["nobody"] == {"http_status": 400, "message": "A phone number has no letters."}
    assert answer[""]["http_status"] == 400
    assert DoNotCall.objects.count() == 3


def test_a_batch_answers_for_all_items_of_one_spelling(api):
    CampaignFactory(code="SPR26")
    CampaignFactory(code="AUT26")
    first, second, third = "+48225550117", "+48225550118", "+48225550119"
    items = [
        {"number": first, "outbound_id": "SPR26"},
        {"number": first, "outbound_id": "AUT26"},
        {"number": second},
        {"number": second},
        {"number": third, "outbound_id": "SPR26"},
        {"number": third, "outbound_id": "XXXXX"},
        {"number": third, "outbound_id": "YYYYY"},
        {"number": third, "outbound_id": "AUT26"},
    ]

    answer = api.post("/api/batch/do_not_call", {"entries": items}).json()

    def ids(number):
        return list(DoNotCall.objects.filter(number=number).order_by("-campaign__code").values_list("id", flat=True))

    assert answer[first] == {"http_status": 201, "id": ids(first)[0], "ids": ids(first)}
    assert answer[second] == {"http_status": 201, "id": ids(second)[0]}
    reason = "There is no campaign with this id."
    assert answer[third] == {"http_status": 400, "id": ids(third)[0], "ids": ids(third), "message": reason}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "entries"),
        ({"entries": {}}, "entries"),
        ({"entries": []}, "entries"),
        ({"entries": [{}] * 10_001}, "entries"),
        ({"entries": [1]}, "entries.0"),
    ],
    ids=range(5),
)
def test_a_batch_that_is_no_array_of_some_objects_is_refused(api, body, field):
    assert {name for name, _ in faults(api.post("/api/batch/do_not_call", body))} == {field}


@pytest.mark.parametrize("is_prefix", [False, True])
def test_the_deletion_of_an_entry_frees_its_records(api, is_prefix):
    campaign = CampaignFactory()
    held = {"held_until": FOR_GOOD, "campaign": campaign}
    own = RecordFactory(phone_number="+48225550117", **held)
    by_additional = RecordFactory(**held)
    AdditionalNumberFactory(record=by_additional, phone_number="+48225550117")
    other = RecordFactory(phone_number="+48335550117", **held)
    entry = DoNotCallFactory(number="+4822555" if is_prefix else "+48225550117", is_prefix=is_prefix)

    assert api.delete(f"/api/do_not_call/{entry.pk}").status_code == 204

    assert not DoNotCall.objects.exists()
    still_held = set(Record.objects.exclude(held_until=None).values_list("pk", flat=True))
    assert other.pk in still_held
    assert not still_held & {own.pk, by_additional.pk}


def test_entries_of_one_number_in_one_batch_become_one_with_the_latest_end():
    soon = timezone.now() + timedelta(days=1)
    given = [NewEntry({"number": "+48225550117", "until": soon + timedelta(days=days)}) for days in (0, 2, 1)]

    add_entries(ACTOR, given)

    entry = DoNotCall.objects.get()
    assert entry.until == soon + timedelta(days=2)
    assert {one.id for one in given} == {entry.pk}
