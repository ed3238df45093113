"""The campaigns of the demonstration: DEMO1 dials, DEMO2 offers a record."""

import pytest
from django.core.management import call_command
from django.utils import timezone

from campaigns.models import Attempt, Campaign, RecordOffer
from campaigns.verbs.dialling import start_dialling
from telephony.models import Agent
from telephony.verbs import presence
from tests.campaigns.dialling.calls import tick
from tests.conftest import ACTOR


@pytest.mark.trial
@pytest.mark.slow("dials the demonstration")
def test_demo1_dials_for_three_agents_and_demo2_offers_them_records(switch):
    call_command("demo", stdout=None)
    first, second = (Campaign.objects.get(code=code) for code in ("DEMO1", "DEMO2"))
    assert (first.is_dialling, second.is_dialling) == (False, False)
    agents = list(Agent.objects.filter(login__in=["agent1", "agent2", "agent3"]))
    for agent in agents:
        presence.log_in(agent, ACTOR, timezone.now())

    start_dialling(second, ACTOR)
    tick(second)
    offered = RecordOffer.objects.count()
    for agent in agents:
        presence.log_out(agent, ACTOR)
        presence.log_in(agent, ACTOR)
    start_dialling(first, ACTOR)
    tick(first)

    assert (offered, Attempt.objects.filter(campaign=first).count()) == (3, 3)
    assert (first.records.count(), second.records.count()) == (200, 10)
