"""The code of a deleted campaign may be chosen again. Nothing of the old campaign belongs to the new one."""

from typing import Any

import pytest
from django.contrib import admin
from django.db import connection as database
from django.db.models import CharField, Model

from callcentre.core.scope import Kept, lookups_of, within_scope
from campaigns.dialling.agents import agents_of
from campaigns.dialling.sharing import left_by_queues
from campaigns.dialling.status import dialling_status
from campaigns.models import Attempt, Campaign
from campaigns.verbs.campaigns import remove_campaign
from campaigns.verbs.dialling import stop_dialling
from telephony.models import CallCommand, Connection, Offer, Recording, Transcription
from tests.callcentre.factories import UserFactory
from tests.campaigns.factories import CampaignFactory, PastAttemptFactory
from tests.conftest import ACTOR, ApiClient
from tests.rights.people import client_of, person
from tests.telephony.factories import (
    AgentFactory,
    AgentSessionFactory,
    AgentStateFactory,
    ConnectionFactory,
    OfferFactory,
    RecordingFactory,
    TranscriptionFactory,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def call_for(campaign: Campaign, **values: Any) -> Connection:
    """Return a call of the campaign with its attempt, recording, transcription and an offer."""
    ids: dict[str, Any] = {"campaign_id": campaign.pk, "campaign_code": campaign.code, "record_id": 1}
    call: Connection = ConnectionFactory(**ids, **values)
    PastAttemptFactory(campaign=campaign, connection_id=call.pk, connection_uid=call.uid)
    RecordingFactory(connection=call)
    TranscriptionFactory(connection=call)
    OfferFactory(connection=call)
    return call


def given_again(code: str = "SALES", **values: Any) -> tuple[Connection, Campaign]:
    """Return a call of a deleted campaign, and another campaign with its code."""
    old = CampaignFactory(code=code)
    call = call_for(old, **values)
    remove_campaign(old, ACTOR)
    return call, CampaignFactory(code=code)


@pytest.mark.parametrize("model", [Attempt, Connection, Offer, Recording, Transcription])
def test_a_person_of_the_new_campaign_sees_nothing_of_the_old_one(model):
    _old_call, campaign = given_again()
    call_for(campaign)
    user = UserFactory(staff=True, scope_outbounds=[campaign.pk])
    own = {Attempt: {"campaign": campaign}, Connection: {"campaign_id": campaign.pk}}
    expected = model._default_manager.filter(
        **own.get(model, {"connection__campaign_id": campaign.pk})  # type: ignore[arg-type]
    )

    assert list(within_scope(model._default_manager.all(), user)) == list(expected)
    with database.cursor() as cursor:
        condition = user.scope.sql(model, "x")
        cursor.execute(f"SELECT x.* FROM {model._meta.db_table} x WHERE true{condition}", user.scope.by_column)
        assert len(cursor.fetchall()) == len(expected)


def test_calls_of_no_campaign_are_in_each_scope():
    call = ConnectionFactory()
    user = UserFactory(staff=True, scope_outbounds=[CampaignFactory().pk])

    assert list(within_scope(Connection.objects.all(), user)) == [call]


def test_the_lists_of_the_new_campaign_do_not_show_the_old_calls():
    _call, campaign = given_again(dst="+48 600 111 222")
    client = client_of(person("Supervisor", scope_outbounds=[campaign.pk]))

    for page in ("telephony/connection", "campaigns/attempt", "telephony/recording"):
        answer = client.get(f"/admin/{page}/")
        assert (answer.status_code, list(answer.context["cl"].result_list)) == (200, [])


def test_scopes_compare_ids_only():
    """A name may be given again, so no dimension of a scope is compared with one."""
    compared = {
        _column(model, lookup.lookup if isinstance(lookup, Kept) else lookup)
        for model in admin.site._registry
        for lookup in lookups_of(model).values()
        if lookup
    }

    assert {str(field) for field in compared if isinstance(field, CharField)} == set()


def _column(model: type[Model], lookup: str) -> Any:
    field: Any = None
    for name in lookup.split("__"):
        field = model._meta.get_field(name)
        model = field.related_model
    return field


def _answered() -> dict[str, Any]:
    return {"talking": True, "state": "waiting", "waiting_since": None}


def test_open_calls_of_the_old_campaign_are_none_of_the_new_one():
    call, campaign = given_again(**_answered())
    agent = AgentFactory(with_phone=True, outbound_mode=True)
    campaign.agents.add(agent)
    AgentSessionFactory(agent=agent)
    AgentStateFactory(agent=agent, kind="talking", connection=call)

    (seen,) = agents_of(campaign.pk)
    assert seen.is_in_call_of_other
    assert left_by_queues([seen], CampaignFactory())[0] == [seen]
    assert dialling_status(campaign).waiting == 0


def test_stopping_the_new_campaign_ends_no_call_of_the_old_one():
    _call, campaign = given_again(state="dialling", answered_at=None, ended_at=None, disposition="")

    stop_dialling(campaign, ACTOR)

    assert not CallCommand.objects.exists()


def test_a_generated_code_is_never_that_of_a_deleted_campaign(api):
    for code in ("00001", "00002", "00004"):
        campaign = CampaignFactory(code=code)
        if code != "00001":
            remove_campaign(campaign, ACTOR)

    assert [_create(api) for _ in range(2)] == ["00003", "00005"]
    assert api.post("/api/outbounds/00001/clone", {"name": "Copy"}).json()["id"] == "00006"


def test_a_client_may_choose_the_code_of_a_deleted_campaign(api):
    remove_campaign(CampaignFactory(code="00001"), ACTOR)

    assert _create(api, id="00001") == "00001"
    remove_campaign(Campaign.objects.get(code="00001"), ACTOR)
    assert _create(api) == "00002"


def _create(api: ApiClient, **values: Any) -> str:
    made = api.post("/api/outbounds", {"name": "Spring", "dialer": "progressive", "crm": False, **values})
    return str(made.json()["id"])
