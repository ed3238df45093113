"""Verbs, querysets and constraints of campaigns and records."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from callcentre.core.errors import Conflict, ErrorCode, Invalid
from campaigns.models import Campaign, Record, RecordChange, RecordStatus, SystemStatus
from campaigns.verbs import campaigns
from campaigns.verbs.new_records import NewRecord, add_records
from campaigns.verbs.record_edits import Edit, edit_records
from campaigns.verbs.records import remove_record
from tests.campaigns.factories import (
    CampaignFactory,
    DictionaryStatusFactory,
    RecordChangeFactory,
    RecordFactory,
    RecordStatusFactory,
)
from tests.campaigns.import_files import facts_of
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


def refuses(constraint: str) -> Any:
    return pytest.raises(IntegrityError, match=constraint)


# Campaigns


@pytest.mark.parametrize(
    ("start", "end", "is_active", "expected"),
    [
        *((start, end, True, True) for start, end in ((-1, 1), (0, 0), (0, None))),
        *((1, None, True, False), (-2, -1, True, False), (-1, 1, False, False)),
    ],
)
def test_a_campaign_is_diallable_only_if_active_and_within_its_dates(start, end, is_active, expected):
    today = date(2030, 6, 1)
    end_date = None if end is None else today + timedelta(days=end)
    CampaignFactory(start_date=today + timedelta(days=start), end_date=end_date, is_active=is_active)

    assert Campaign.objects.diallable_on(today).exists() is expected


@pytest.mark.parametrize(
    ("constraint", "values"),
    [
        ("record_of_agent_has_agent_and_time", {"system_status": "MY_RECORD"}),
        ("record_no_sooner_than_has_time", {"system_status": "CALL_NO_SOONER_THAN"}),
        ("record_system_status_is_known", {"system_status": "DONE"}),
        ("campaign_code_is_well_formed", {"code": "12-45"}),
        ("campaign_ends_after_start", {"start_date": date(2030, 1, 2), "end_date": date(2030, 1, 1)}),
        ("campaign_order_in_range", {"order": 0}),
        ("campaign_order_in_range", {"order": 100_000}),
        ("campaign_parity_in_range", {"parity": 101}),
        ("campaign_preview_timeout_in_range", {"preview_timeout": 0}),
        ("campaign_ratios_in_order", {"predictive_min_calls": 2, "predictive_max_calls": 1}),
    ],
)
def test_the_database_refuses_a_campaign_or_record_that_breaks_a_rule(constraint, values):
    RecordFactory()
    model = Record if constraint.startswith("record") else Campaign

    with refuses(constraint), transaction.atomic():
        model._default_manager.update(**values)


def test_no_id_is_generated_when_all_numbers_are_taken(monkeypatch):
    assert campaigns._NUMBERS[-1] == 99_999
    monkeypatch.setattr(campaigns, "_NUMBERS", range(1, 3))
    assert [CampaignFactory(code="").code for _ in range(2)] == ["00001", "00002"]

    with pytest.raises(Invalid) as caught:
        CampaignFactory(code="")
    assert [fault.code for fault in caught.value.faults] == [ErrorCode.CAMPAIGN_IDS_EXHAUSTED]


def test_a_new_dictionary_status_is_added_to_new_campaigns_with_its_marks_and_not_to_older_ones():
    campaign = CampaignFactory()
    entry = DictionaryStatusFactory(name="Sold", is_success=True, is_wrong_number=True)

    assert not campaign.statuses.filter(dictionary_status=entry).exists()
    status = CampaignFactory().statuses.get(dictionary_status=entry)
    assert (status.is_success, status.is_wrong_number) == (True, True)


@pytest.mark.parametrize("name", ["name", "dictionary_status"])
def test_a_campaign_has_each_status_once(name):
    status = CampaignFactory().statuses.first()

    with refuses("recordstatus_.*_is_unique"), transaction.atomic():
        RecordStatusFactory(campaign=status.campaign, **{name: getattr(status, name)})


def test_the_database_has_one_primary_record_for_a_number_and_campaign():
    record = RecordFactory()
    RecordFactory(campaign=record.campaign, phone_number=record.phone_number, duplicate=True)
    RecordFactory(phone_number=record.phone_number)

    with refuses("record_number_is_unique"), transaction.atomic():
        RecordFactory(campaign=record.campaign, phone_number=record.phone_number)


def added(campaign: Campaign, **values: Any) -> Record:
    record = NewRecord({"phone_number": "221234567", **values})
    add_records(facts_of(campaign), ACTOR, [record])
    assert record.faults == []
    return Record.objects.get()


def test_a_new_record_has_the_first_status_to_call_or_none():
    campaign = CampaignFactory()
    first = RecordStatusFactory(campaign=campaign, system_status=SystemStatus.TO_CALL, order=1)

    record = added(campaign)

    assert record.status == first
    record.delete()
    campaign.statuses.filter(system_status=SystemStatus.TO_CALL).delete()
    record = added(campaign)
    assert (record.status, record.system_status) == (None, "TO_CALL")


def test_removing_the_primary_record_promotes_the_oldest_of_its_number_in_the_campaign():
    primary, other = RecordFactory.create_batch(2, phone_number="221234567")
    duplicates = [(other.campaign, "221234567"), *[(primary.campaign, "22 1234567")] * 3]
    elsewhere, first, second, third = (
        RecordFactory(campaign=campaign, phone_number=number, duplicate=True) for campaign, number in duplicates
    )

    remove_record(first, ACTOR)
    remove_record(primary, ACTOR)

    found = list(Record.objects.order_by("id").values_list("id", "is_primary"))
    assert found == [(other.pk, True), (elsewhere.pk, False), (second.pk, True), (third.pk, False)]


def test_a_record_in_a_live_call_is_not_removed():
    record = RecordFactory(in_live_call=True)

    with pytest.raises(Conflict):
        remove_record(record, ACTOR)
    assert Record.objects.exists()


# History


def test_history_keeps_the_names_of_removed_statuses():
    campaign = CampaignFactory()
    status = RecordStatusFactory(campaign=campaign, name="Vip")
    record = RecordFactory(campaign=campaign, status=status, system_status=status.system_status)
    to_call = campaign.statuses.get(system_status="TO_CALL", dictionary_status__key="")

    edit_records(facts_of(campaign), ACTOR, [Edit(record.phone_number, {"status_id": to_call.pk})])
    status.delete()

    change = RecordChange.objects.get()
    assert (change.from_status, change.to_status) == ("Vip", "To be called")


def test_a_refused_edit_does_not_reserve_the_identifier():
    campaign = CampaignFactory()
    first, second = RecordFactory.create_batch(2, campaign=campaign)
    edits = [
        Edit(first.phone_number, {"identifier": "ID-1", "agent_login": "nobody"}),
        Edit(second.phone_number, {"identifier": "ID-1"}),
    ]

    edit_records(facts_of(campaign), ACTOR, edits)

    assert [[fault.code for fault in edit.faults] for edit in edits] == [[ErrorCode.AGENT_NOT_FOUND], []]
    assert Record.objects.get(identifier="ID-1") == second


def test_history_is_listed_newest_first():
    record = RecordFactory()
    first, second = RecordChangeFactory.create_batch(2, record=record)

    assert list(record.history.all()) == [second, first]


def test_fields_keep_their_values_when_they_are_renamed():
    campaign = CampaignFactory(fields=["city"])
    record = added(campaign, fields={"city": "Łódź"})

    campaign.fields.update(name="town")

    [(name, key)] = facts_of(campaign).fields.items()
    assert (name, record.fields[key]) == ("town", "Łódź")


def test_an_inactive_agent_may_be_assigned():
    agent = AgentFactory(login="anna", left=True)

    assert added(CampaignFactory(), agent_login="anna").agent == agent


def test_a_status_in_use_cannot_be_deleted():
    record = RecordFactory()

    with pytest.raises(ProtectedError):
        record.status.delete()
    assert RecordStatus.objects.filter(pk=record.status_id).exists()
