"""The page of a campaign in the admin, and its clone, deletion and download."""

from typing import Any

import pytest
from django.db import IntegrityError
from django.urls import reverse

from campaigns.models import Campaign, DictionaryStatus, RecordStatus, SystemStatus
from campaigns.verbs.campaigns import add_agents, edit_campaign
from tests.backoffice import errors_of, inputs_of, messages_of, page_of, superuser
from tests.campaigns.factories import (
    CampaignFactory,
    CampaignGroupFactory,
    RecordFactory,
    RecordImportFactory,
    RecordStatusFactory,
)
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory

ADD = reverse("admin:campaigns_campaign_add")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "counted_again")]


# The page


def test_a_new_campaign_has_the_entered_values_and_the_dictionary_statuses_and_leads_to_its_page():
    agent, group = AgentFactory(), CampaignGroupFactory()

    values = {"name": "Spring offer", "dialer": "predictive", "group": group.pk, "caller_id": "+48225550100"}
    response = superuser().submit(ADD, **values, agents=[agent.pk])

    campaign = Campaign.objects.get()
    assert (campaign.code, campaign.group, campaign.caller_id) == ("00001", group, "+48225550100")
    assert campaign.is_active
    assert response["Location"] == page_of(campaign)
    assert list(campaign.agents.all()) == [agent]
    assert campaign.statuses.count() == DictionaryStatus.objects.count() > 0


@pytest.mark.slow("opens many pages")
@pytest.mark.parametrize(
    ("values", "field"),
    [
        *(({name: value}, name) for name, value in (("end_date", "2000-01-01"), ("order", "100000"), ("parity", "0"))),
        ({"predictive_min_calls": "3", "predictive_max_calls": "2"}, "predictive_min_calls"),
        ({"preview_timeout": "0"}, "preview_timeout"),
        ({"holiday_country": "XX"}, "holiday_country"),
        ({"name": ""}, "name"),
    ],
)
def test_a_broken_rule_is_shown_at_its_field_and_counted_at_its_tab(values, field):
    campaign = CampaignFactory(code="TAKEN")

    response = superuser().submit(page_of(campaign), expected=200, **values)

    assert list(errors_of(response)) == [field]
    tabs = response.content.decode().partition('id="tabs-items"')[2].partition("</nav>")[0]
    is_in_tab = field.startswith(("predictive", "preview", "holiday"))
    assert tabs.count("bg-red-500") == (1 if is_in_tab else 0)


def test_all_faults_are_shown_at_once():
    of_new = {"name": "", "caller_id": "our shop", "start_date": "2000-01-02", "end_date": "2000-01-01"}
    of_page = of_new | {"predictive_min_calls": "3", "predictive_max_calls": "2", "order": "0"}

    for path, wrong in ((ADD, of_new | {"dialer": "preview", "code": "ab"}), (page_of(CampaignFactory()), of_page)):
        response = superuser().submit(path, expected=200, **wrong)
        assert set(errors_of(response)) == wrong.keys() - {"dialer", "start_date", "predictive_max_calls"}


def test_editing_a_campaign_calls_the_verb_and_keeps_its_id(monkeypatch):
    campaign = CampaignFactory(code="SPRNG")
    made = []

    def listen(campaign, actor, **values):
        made.append((actor.kind, values))
        edit_campaign(campaign, actor, **values)

    monkeypatch.setattr("campaigns.admin.campaigns.edit_campaign", listen)

    superuser().submit(page_of(campaign), code="OTHER", name="Autumn offer", caller_id="+48225550100")

    campaign.refresh_from_db()
    assert (campaign.code, campaign.name) == ("SPRNG", "Autumn offer")
    assert made == [("user", {"name": "Autumn offer", "caller_id": "+48225550100"})]


def test_agents_are_added_and_removed_and_one_added_meanwhile_by_another_user_stays():
    # The page sends each agent with its state before, in any order.
    stays, goes, comes, theirs = (AgentFactory(login=login) for login in ("b", "a", "c", "d"))
    campaign, client = CampaignFactory(), superuser()
    add_agents(campaign, ACTOR, [stays.login, goes.login])
    page = client.page(page_of(campaign))
    add_agents(campaign, ACTOR, [theirs.login])

    client.post(page_of(campaign), {**inputs_of(page), "agents": [stays.pk, comes.pk]})

    assert set(campaign.agents.all()) == {stays, comes, theirs}


def test_agents_are_kept_when_another_field_is_corrected():
    """An empty list has no input for its state before: the first agents must be kept too."""
    agent, client, campaign = AgentFactory(), superuser(), CampaignFactory()

    refused = client.submit(page_of(campaign), expected=200, name="", agents=[agent.pk])
    client.post(page_of(campaign), {**inputs_of(refused.content.decode()), "name": "Mended"})

    campaign.refresh_from_db()
    assert (campaign.name, list(campaign.agents.all())) == ("Mended", [agent])


# The script


@pytest.mark.slow("opens many pages")
@pytest.mark.parametrize(
    ("script", "unknown"),
    [
        ("Good morning, {first_name} { city }!", ["first_name"]),
        ("{city} {phone_number} {phone}{phone}{}", ["phone", ""]),
        ("{city}, {phone_number}. A } and a { alone.", []),
        ("No field.", []),
    ],
)
def test_a_script_names_only_fields_of_its_campaign(script, unknown):
    campaign = CampaignFactory(fields=["city"])
    sentences = [f'The script names the field "{name}", which the campaign does not have.' for name in unknown]

    response = superuser().submit(page_of(campaign), expected=200 if unknown else 302, script=script)

    assert errors_of(response).get("script", []) == sentences if unknown else True
    campaign.refresh_from_db()
    assert campaign.script == ("" if unknown else script)


@pytest.mark.parametrize("change", [{"fields-0-DELETE": "on"}, {"fields-0-name": "town"}])
def test_a_field_that_the_script_names_is_neither_removed_nor_renamed_alone(change):
    campaign = CampaignFactory(fields=["city"], script="In {city}.")

    response = superuser().submit(page_of(campaign), expected=200, **change)

    assert errors_of(response) == {"script": ['The script names the field "city", which the campaign does not have.']}
    assert campaign.fields.get().name == "city"


def test_the_fields_stand_beside_the_script_and_are_renamed_together_with_their_place_in_it():
    campaign, client = CampaignFactory(fields=["city"], script="In {city}."), superuser()
    page = client.page(page_of(campaign))

    client.submit(page_of(campaign), **{"fields-0-name": "town", "script": "In {town}."})

    assert all(f'data-insert="{place}"' in page for place in ("{city}", "{phone_number}"))
    campaign.refresh_from_db()
    assert (campaign.script, campaign.fields.get().name) == ("In {town}.", "town")


def test_queries_of_the_page_do_not_grow_with_its_content():
    campaign = CampaignFactory(fields=[f"field {number}" for number in range(20)])
    RecordStatusFactory.create_batch(20, campaign=campaign)
    add_agents(campaign, ACTOR, [agent.login for agent in AgentFactory.create_batch(20)])
    RecordFactory.create_batch(20, campaign=campaign)
    client = superuser()

    with few_statements(16):
        client.page(page_of(campaign))


def row_of(status):
    """Return the prefix of the inputs of a status."""
    return f"statuses-{list(status.campaign.statuses.values_list('pk', flat=True)).index(status.pk)}"


def test_a_status_is_added_and_renamed_and_keeps_its_system_status():
    status = CampaignFactory().statuses.get(system_status=SystemStatus.NO_CALL, dictionary_status__key="")
    row, count = row_of(status), status.campaign.statuses.count()
    values = {"name": "Call again in spring", "system_status": "CALL_NO_SOONER_THAN", "order": "99"}
    new = {f"statuses-{count}-{name}": value for name, value in values.items()}
    renamed = {f"{row}-system_status": "TO_CALL", f"{row}-name": "Not interested"}

    superuser().submit(page_of(status.campaign), **{"statuses-TOTAL_FORMS": str(count + 1)}, **renamed, **new)

    status.refresh_from_db()
    assert (status.name, status.system_status) == ("Not interested", SystemStatus.NO_CALL)
    added = status.campaign.statuses.get(name="Call again in spring")
    assert added.system_status == SystemStatus.CALL_NO_SOONER_THAN


@pytest.mark.slow("opens many pages")
def test_only_an_unused_status_is_removed():
    record = RecordFactory()
    unused, page = RecordStatusFactory(campaign=record.campaign), page_of(record.campaign)

    refused = superuser().submit(page, expected=200, **{f"{row_of(record.status)}-DELETE": "on"})
    superuser().submit(page, **{f"{row_of(unused)}-DELETE": "on"})

    assert "it cannot be removed: To be called." in str(errors_of(refused))
    assert RecordStatus.objects.filter(pk=record.status_id).exists()
    assert not RecordStatus.objects.filter(pk=unused.pk).exists()


def test_two_fields_of_one_name_are_refused():
    campaign = CampaignFactory(fields=["city"])

    second = {"fields-TOTAL_FORMS": "2", "fields-1-name": "city", "fields-1-order": "20"}
    response = superuser().submit(page_of(campaign), expected=200, **second)

    assert errors_of(response)
    assert campaign.fields.count() == 1


def test_a_crm_campaign_shows_no_fields():
    assert "fields-TOTAL_FORMS" not in superuser().page(page_of(CampaignFactory(crm=True)))


@pytest.mark.slow("opens many pages")
def test_a_broken_constraint_shows_a_sentence(monkeypatch):
    campaign = CampaignFactory()

    def lose_the_race(campaign, actor, **values):
        raise IntegrityError("duplicate key value violates unique constraint")

    monkeypatch.setattr("campaigns.admin.campaigns.edit_campaign", lose_the_race)

    response = superuser().submit(page_of(campaign), expected=200, name="Autumn offer")

    assert errors_of(response) == {"": ["Something else changed at the same time; try again."]}


# Cloning, deleting, downloading


def test_a_clone_gets_the_entered_name_and_id_and_a_bad_id_is_refused_at_its_field():
    client, page = superuser(), page_of(CampaignFactory(code="TAKEN", fields=["city"]), "clone")

    refused = [client.submit(page, expected=200, code=code, name="The copy") for code in ("TAKEN", "x")]
    count = Campaign.objects.count()
    client.submit(page, code="COPY1", name="The copy")

    assert ([list(errors_of(response)) for response in refused], count) == ([["code"]] * 2, 1)
    copy = Campaign.objects.get(code="COPY1")
    assert (copy.name, [field.name for field in copy.fields.all()]) == ("The copy", ["city"])


def test_a_campaign_with_records_can_be_deactivated_but_not_deleted():
    campaign = CampaignFactory()
    RecordFactory.create_batch(2, campaign=campaign)
    client = superuser()

    page = client.page(page_of(campaign, "delete"))
    client.post(page_of(campaign, "delete"), {"post": "yes"})
    client.post(page_of(campaign, "delete"), {"deactivate": "1"})

    campaign.refresh_from_db()
    assert "It has 2 records" in page
    assert (campaign.records.count(), campaign.is_active) == (2, False)


def test_deleting_an_empty_campaign_deletes_its_statuses_and_fields():
    campaign = CampaignFactory(fields=["city"])
    RecordImportFactory(campaign=campaign)
    client = superuser()

    page = client.page(page_of(campaign, "delete"))
    client.post(page_of(campaign, "delete"), {"post": "yes"})

    assert "Statuses: 11" in page
    assert not Campaign.objects.exists()


def test_a_record_added_meanwhile_stops_the_deletion(monkeypatch):
    campaign = CampaignFactory()
    client = superuser()
    RecordFactory(campaign=campaign)
    monkeypatch.setattr("campaigns.admin.campaigns.has_records", lambda campaign: False)

    response = client.post(page_of(campaign, "delete"), {"post": "yes"})

    assert messages_of(response) == ["The campaign has records: it can be made inactive, not deleted."]
    assert Campaign.objects.exists()


def test_the_records_of_a_campaign_are_downloaded_as_a_file():
    campaign = CampaignFactory(code="SPRNG")
    RecordFactory(campaign=campaign, phone_number="+48225550107")

    response: Any = superuser().get(page_of(campaign, "download"))

    assert b"+48225550107" in b"".join(response.streaming_content)
    assert response["Content-Disposition"].startswith('attachment; filename="SPRNG-')
