"""The figures of the dialling in /metrics, and /health/dialling."""

import pytest
from django.test import Client
from django.utils import timezone

from campaigns.dialling.ownership import Ownership
from campaigns.models import DiallingDay
from campaigns.verbs.dialling import pause_dialling, switch_dialling
from tests.campaigns.factories import CampaignFactory
from tests.conftest import ACTOR

pytestmark = pytest.mark.usefixtures("committed_db")


def value(client: Client, name: str) -> float | None:
    lines = client.get("/metrics").content.decode().splitlines()
    found = [line for line in lines if line.startswith(f"{name} ")]
    return float(found[0].rpartition(" ")[2]) if found else None


def health(client: Client) -> int:
    return client.get("/health/dialling").status_code


@pytest.mark.slow("runs a long scene")
def test_metrics_show_diallers_and_campaigns_without_one(client):
    owned, _alone, paused = (CampaignFactory(is_dialling=is_dialling) for is_dialling in (True, True, False))
    DiallingDay.objects.create(campaign=paused, day=timezone.localdate(), attempts=7, live_answers=5, drops=1)
    ownership = Ownership()
    ownership.hold({owned.pk: owned.pk})

    assert value(client, "callcentre_diallers") == 1
    assert value(client, "callcentre_dialler_silent_seconds") is not None
    assert value(client, "callcentre_campaigns_to_dial") == 2
    assert value(client, "callcentre_campaigns_without_dialler") == 1
    assert value(client, 'callcentre_dialling_today{count="attempts"}') == 7
    ownership.close()


def test_the_probe_fails_while_no_dialler_has_a_campaign_to_dial(client):
    campaign = CampaignFactory(is_dialling=True)
    without = health(client)
    ownership = Ownership()
    ownership.hold({campaign.pk: campaign.pk})
    owned = health(client)
    ownership.close()

    assert (without, owned) == (503, 200)


def test_the_probe_passes_while_nothing_is_to_be_dialled(client):
    campaign = CampaignFactory(is_dialling=True)
    pause_dialling(campaign, ACTOR)
    paused = health(client)
    other = CampaignFactory(is_dialling=True)
    switch_dialling(ACTOR, is_running=False, reason="Storm")

    assert (paused, health(client)) == (200, 200)
    assert other.is_dialling
