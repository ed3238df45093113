"""Switches of dialling hold for the dials of the same moment, too."""

import threading

import pytest
from django.db import connection as database
from django.db import transaction
from django.utils import timezone

from campaigns.dialling.campaign_tick import CampaignTick
from campaigns.models import Attempt, Campaign, Record, RecordOffer
from campaigns.verbs.dialling import pause_dialling, start_dialling
from telephony.models import Connection
from tests.campaigns.dialling.calls import dialling_campaign, tick
from tests.conftest import ACTOR
from tests.processes import wait_for
from tests.telephony.doubles import RecordingSwitch

# Transactions that wait for the present one.
_WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid"


def tick_of_before(campaign: Campaign) -> None:
    """Tick with the campaign as it was read before."""
    CampaignTick(campaign.pk, "test").run(campaign, timezone.now())


def count(statement: str) -> int:
    with database.cursor() as cursor:
        cursor.execute(statement)
        return int(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("dialer", ["progressive", "preview"])
def test_a_tick_that_read_the_campaign_before_its_pause_places_nothing(switch: RecordingSwitch, dialer: str) -> None:
    campaign = dialling_campaign(dialer=dialer)
    Campaign.objects.update(is_dialling=False)

    tick_of_before(campaign)

    assert (Attempt.objects.count(), RecordOffer.objects.count(), Connection.objects.count()) == (0, 0, 0)
    assert Record.objects.get().leased_by == ""


@pytest.mark.django_db(transaction=True)
def test_a_dial_in_the_moment_of_a_pause_waits_for_it_and_places_nothing(switch: RecordingSwitch) -> None:
    campaign = dialling_campaign()

    def dial() -> None:
        try:
            tick_of_before(campaign)
        finally:
            database.close()

    dialler = threading.Thread(target=dial)
    with transaction.atomic():
        pause_dialling(Campaign.objects.get(), ACTOR)
        dialler.start()
        wait_for(lambda: count(_WAITS), "the dial waits")
    dialler.join()

    assert (Attempt.objects.count(), Connection.objects.count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_calls_go_on_after_a_pause_and_new_ones_begin_after_a_start(switch: RecordingSwitch) -> None:
    campaign = dialling_campaign(agents=2, records=2)
    campaign.agents.filter(login="agent2").update(outbound_mode=False)
    tick(campaign)
    pause_dialling(campaign, ACTOR)
    campaign.agents.update(outbound_mode=True)
    tick_of_before(campaign)
    during = Connection.objects.open().count(), Attempt.objects.count()
    start_dialling(campaign, ACTOR)
    tick(campaign)

    assert (during, Attempt.objects.count()) == ((1, 1), 2)
