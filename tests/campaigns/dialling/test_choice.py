"""The choice of the next records, and their reservation."""

from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction
from django.utils import timezone

from campaigns.dialling.choice import Group, ReservedRecord, give_back, groups_of, reserve
from campaigns.models import Campaign, Record
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.serving import at_once
from tests.telephony.factories import AgentFactory

OPEN = [Group("Europe/Warsaw", "48"), Group("America/New_York", "1")]


def reserved(campaign: Campaign, count: int = 100, holder: str = "one", agents=(), groups=OPEN) -> list[ReservedRecord]:
    return reserve(campaign.pk, holder, count, groups=groups, free_agents=agents, now=timezone.now())


@pytest.mark.django_db
def test_records_are_chosen_by_class_then_by_order_then_by_age() -> None:
    campaign, agent, past = CampaignFactory(), AgentFactory(), timezone.now() - timedelta(minutes=1)
    make = partial(RecordFactory, campaign=campaign)
    unordered, low = make(), make(order=5)
    late = make(system_status="CALL_NO_SOONER_THAN", next_call_at=past)
    earlier = make(system_status="CALL_NO_SOONER_THAN", next_call_at=past - timedelta(hours=1), order=9)
    progressive = make(system_status="CALL_PROGRESSIVE")
    own = make(system_status="MY_RECORD", next_call_at=past, agent=agent)
    now = make(system_status="CALL")
    # Not to be called.
    make(system_status="MY_RECORD", next_call_at=past, agent=AgentFactory())
    make(system_status="CALL_NO_SOONER_THAN", next_call_at=timezone.now() + timedelta(hours=1))
    make(system_status="NO_CALL")
    make(in_live_call=True)
    make(held_until=timezone.now() + timedelta(hours=1))
    make(zone="Asia/Tokyo")

    ids = [record.id for record in reserved(campaign, agents=[agent.pk])]

    assert ids == [record.pk for record in (now, own, progressive, earlier, late, low, unordered)]


@pytest.mark.django_db
def test_a_reservation_writes_the_lease_only() -> None:
    record = RecordFactory()

    assert [found.id for found in reserved(record.campaign)] == [record.pk]

    after = Record.objects.get()
    assert (after.system_status, after.leased_by, after.is_leased) == ("TO_CALL", "one", True)
    assert not after.history.exists()
    assert reserved(record.campaign, holder="two") == []


@pytest.mark.django_db
def test_only_the_holder_gives_a_reservation_back() -> None:
    record = RecordFactory()
    reserved(record.campaign)

    give_back([record.pk], "two")
    assert Record.objects.get().is_leased
    give_back([record.pk], "one")
    assert not Record.objects.get().is_leased


@pytest.mark.django_db
def test_a_reservation_of_a_dead_dialler_ends() -> None:
    record = RecordFactory()
    reserved(record.campaign)
    Record.objects.update(leased_until=timezone.now() - timedelta(seconds=1))

    assert [found.id for found in reserved(record.campaign, holder="two")] == [record.pk]


@pytest.mark.django_db
def test_zones_and_countries_of_callable_records_are_found() -> None:
    campaign = CampaignFactory()
    for zone, code in (("Europe/Warsaw", "48"), ("America/New_York", "1"), ("America/New_York", "48"), ("", "")):
        RecordFactory.create_batch(2, campaign=campaign, zone=zone, calling_code=code)
    RecordFactory(campaign=campaign, zone="America/New_York", calling_code="1", system_status="CALL")
    RecordFactory(campaign=campaign, zone="Asia/Tokyo", system_status="NO_CALL")
    RecordFactory(zone="Africa/Cairo")

    found = [("", ""), ("America/New_York", "1"), ("America/New_York", "48"), ("Europe/Warsaw", "48")]
    assert groups_of(campaign.pk) == [Group(*pair) for pair in found]


def test_several_diallers_never_reserve_the_same_record(committed_db: None) -> None:
    campaign = CampaignFactory()
    RecordFactory.create_batch(60, campaign=campaign)

    def take(holder: str) -> list[int]:
        found = []
        for _ in range(5):
            with transaction.atomic():
                found += [record.id for record in reserved(campaign, count=4, holder=holder)]
        return found

    taken = Counter(pk for ids in at_once([partial(take, f"dialler-{n}") for n in range(4)]) for pk in ids)

    assert set(taken.values()) == {1}
