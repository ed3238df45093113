"""The page of a record in the admin: show, add, edit, delete."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Record, SystemStatus
from tests.backoffice import errors_of, inputs_of, page_of, superuser
from tests.campaigns.api_calls import status_of
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, RecordFactory, RecordStatusFactory
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory

ADD = reverse("admin:campaigns_record_add")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


# The page


def test_the_page_has_an_input_for_each_field_of_the_campaign():
    campaign = CampaignFactory(fields=["first_name", "city"])
    city = campaign.fields.get(name="city")
    record = RecordFactory(campaign=campaign, fields={str(city.pk): "Kraków"})
    AdditionalNumberFactory(record=record, phone_number="12 345 67 89")

    page = superuser().page(page_of(record))

    inputs = inputs_of(page)
    assert inputs[f"field_{city.pk}"] == "Kraków"
    assert inputs["further_numbers"] == "12 345 67 89"
    assert "first_name" in page


def test_queries_of_the_page_do_not_grow_with_its_content():
    campaign = CampaignFactory(fields=[f"field {number}" for number in range(20)])
    record = RecordFactory(campaign=campaign, of_agent=True)
    RecordStatusFactory.create_batch(20, campaign=campaign)
    AdditionalNumberFactory.create_batch(20, record=record)
    for _ in range(20):
        record.history.create(actor_kind="system", actor_name="system", action="edit")
    client = superuser()

    with few_statements(11):
        client.page(page_of(record))


def test_an_edit_calls_the_verb_and_shows_the_history():
    campaign = CampaignFactory(fields=["city"])
    city = campaign.fields.get()
    record = RecordFactory(campaign=campaign)
    agent = AgentFactory(login="anna")
    client = superuser()

    values = {"status": status_of(campaign, SystemStatus.MY_RECORD).pk, "agent": agent.pk, f"field_{city.pk}": "Łódź"}
    client.submit(page_of(record), **values, next_call_at_0="2026-12-24", next_call_at_1="10:30")

    record.refresh_from_db()
    page = client.page(page_of(record))
    change = record.history.get(action="edit")
    assert (record.system_status, record.agent, record.fields) == ("MY_RECORD", agent, {str(city.pk): "Łódź"})
    assert timezone.localtime(record.next_call_at).isoformat() == "2026-12-24T10:30:00+01:00"
    assert (change.actor_kind, change.from_system_status, change.to_system_status) == ("user", "TO_CALL", "MY_RECORD")
    assert all(text in page for text in ("Łódź", "city", "anna", "To be called", "Own record"))


def test_saving_writes_only_changed_fields():
    record = RecordFactory(of_agent=True, last_note="a note\n  with two lines", identifier="before")
    AdditionalNumberFactory(record=record)
    client = superuser()
    client.submit(page_of(record))
    assert not record.history.exists()
    data = inputs_of(client.page(page_of(record)))
    Record.objects.filter(pk=record.pk).update(last_note="by an agent, meanwhile")

    client.post(page_of(record), {**data, "identifier": "after"})

    record.refresh_from_db()
    assert (record.identifier, record.last_note) == ("after", "by an agent, meanwhile")


@pytest.mark.parametrize(
    ("system_status", "changes", "field"),
    [
        ("MY_RECORD", {"next_call_at_0": "2026-12-24", "next_call_at_1": "10:30"}, "agent"),
        ("CALL_NO_SOONER_THAN", {}, "next_call_at"),
        ("TO_CALL", {"further_numbers": "call me"}, "further_numbers"),
        ("TO_CALL", {"identifier": "TAKEN"}, "identifier"),
        ("TO_CALL", {"order": "x"}, "order"),
        ("TO_CALL", {"order": "99999999999"}, "order"),
        ("TO_CALL", {"next_call_at_0": "24 December"}, "next_call_at"),
    ],
)
def test_a_broken_rule_is_shown_at_its_field(system_status, changes, field):
    record = RecordFactory()
    RecordFactory(campaign=record.campaign, identifier="TAKEN")
    status = status_of(record.campaign, system_status).pk

    response = superuser().submit(page_of(record), expected=200, status=status, **changes)

    assert list(errors_of(response)) == [field]
    assert not record.history.exists()


def test_sentences_of_rules_use_the_labels_of_the_page_and_a_status_of_another_campaign_is_refused():
    record, other = RecordFactory.create_batch(2)
    later = status_of(record.campaign, "CALL_NO_SOONER_THAN").pk

    responses = [superuser().submit(page_of(record), expected=200, status=pk) for pk in (later, other.status_id)]

    needs_time = {"next_call_at": ["A record with this status needs a time for the next call."]}
    assert (errors_of(responses[0]), list(errors_of(responses[1]))) == (needs_time, ["status"])


def test_a_duplicate_can_be_edited():
    record = RecordFactory(phone_number="+48225550107")
    duplicate = RecordFactory(campaign=record.campaign, phone_number="+48225550107", duplicate=True)

    superuser().submit(page_of(duplicate), last_note="the second one")

    assert list(Record.objects.order_by("id").values_list("last_note", flat=True)) == ["", "the second one"]


def test_a_record_in_a_live_call_is_read_only_with_a_notice():
    campaign = CampaignFactory(fields=["favourite city"])
    record = RecordFactory(campaign=campaign, in_live_call=True, fields={str(campaign.fields.get().pk): "Kraków"})
    client = superuser()

    page = client.page(page_of(record))
    statuses = [client.post(page_of(record, name), {"post": "yes"}).status_code for name in ("change", "delete")]

    assert all(text in page.lower() for text in ("in a live call", "favourite city", "kraków", "additional numbers"))
    assert 'name="identifier"' not in page
    assert statuses == [403, 403]
    assert Record.objects.filter(pk=record.pk).exists()


def test_a_call_that_begins_meanwhile_shows_a_sentence(monkeypatch):
    record = RecordFactory()
    client = superuser()
    data = inputs_of(client.page(page_of(record)))
    Record.objects.filter(pk=record.pk).update(leased_until=timezone.now() + timedelta(minutes=1), leased_by="1.1")
    monkeypatch.setattr(Record, "is_leased", False)

    response = client.post(page_of(record), {**data, "identifier": "after"})

    assert "live call" in str(errors_of(response))


# Adding, deleting


def test_a_record_is_added_to_the_campaign_that_is_asked_for_first_with_all_entered_values():
    campaign, client = CampaignFactory(fields=["city"]), superuser()
    key = f"field_{campaign.fields.get().pk}"
    address = client.submit(ADD, campaign=campaign.pk).url

    values = {"phone_number": "22 555 01 07", "further_numbers": "101\n102", "last_note": "At the fair.", key: "Łódź"}
    client.submit(address, **values)

    record = Record.objects.get()
    assert (record.campaign, record.number, record.system_status) == (campaign, "+48225550107", "TO_CALL")
    assert (record.last_note, list(record.fields.values())) == ("At the fair.", ["Łódź"])
    assert sorted(number.number for number in record.additional_numbers.all()) == ["101", "102"]
    assert record.history.get().actor_kind == "user"


def test_adding_from_a_filtered_list_preselects_the_campaign():
    campaign = CampaignFactory(fields=["favourite colour"])

    page = superuser().page(ADD, _changelist_filters=f"campaign__id__exact={campaign.pk}")

    assert "favourite colour" in page


@pytest.mark.parametrize("number", ["+48 22 555 01 07", "CALL ME", "", "1" * 40])
def test_a_fault_of_the_number_is_shown_at_its_field(number):
    record = RecordFactory(phone_number="+48225550107")

    response = superuser().submit(f"{ADD}?campaign={record.campaign_id}", expected=200, phone_number=number)

    assert list(errors_of(response)) == ["phone_number"]
    assert Record.objects.count() == 1


def test_deleting_a_record_promotes_the_next_one_of_its_number():
    record = RecordFactory(phone_number="+48225550107")
    heir = RecordFactory(campaign=record.campaign, phone_number="+48225550107", duplicate=True)

    superuser().post(page_of(record, "delete"), {"post": "yes"})

    heir.refresh_from_db()
    assert list(Record.objects.all()) == [heir]
    assert heir.is_primary
