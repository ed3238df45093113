"""The choice of the next records, and their reservation."""

from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import factory
import orjson
import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns.dialling.choice import (
    FOR_GOOD,
    RESERVE,
    SETTINGS,
    Group,
    ReservedRecord,
    give_back,
    groups_of,
    has_due,
    release_held,
    reserve,
    values_of,
)
from campaigns.models import Attempt, Campaign, Record
from campaigns.verbs.do_not_call import remove_entry
from campaigns.verbs.records import fill_zones
from tests.campaigns.dialling.calls import dialling_campaign, open_call, tick, unanswered_call
from tests.campaigns.factories import (
    AdditionalNumberFactory,
    CampaignFactory,
    DoNotCallFactory,
    PastAttemptFactory,
    RecordFactory,
)
from tests.conftest import ACTOR, ApiClient
from tests.serving import at_once
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db

OPEN = [Group("Europe/Warsaw", "48"), Group("America/New_York", "1")]


def reserved(campaign: Campaign, count: int = 100, holder: str = "one", agents=(), groups=OPEN) -> list[ReservedRecord]:
    return reserve(campaign.pk, holder, count, groups=groups, free_agents=agents, now=timezone.now())


def test_records_are_chosen_by_class_then_by_order_then_by_age():
    campaign, agent, past = CampaignFactory(), AgentFactory(), timezone.now() - timedelta(minutes=1)
    make = partial(RecordFactory, campaign=campaign)
    unordered, low = make(), make(order=5)
    late = make(system_status="CALL_NO_SOONER_THAN", next_call_at=past)
    earlier = make(system_status="CALL_NO_SOONER_THAN", next_call_at=past - timedelta(hours=1), order=9)
    progressive = make(system_status="CALL_PROGRESSIVE")
    dropped = make(system_status="CALL_PROGRESSIVE", next_call_at=past)
    own = make(system_status="MY_RECORD", next_call_at=past, agent=agent)
    now = make(system_status="CALL")
    # Not to be called.
    make(system_status="MY_RECORD", next_call_at=past, agent=AgentFactory())
    make(system_status="CALL_NO_SOONER_THAN", next_call_at=timezone.now() + timedelta(hours=1))
    make(system_status="CALL_PROGRESSIVE", next_call_at=timezone.now() + timedelta(hours=1))
    make(system_status="NO_CALL")
    make(in_live_call=True)
    make(held_until=timezone.now() + timedelta(hours=1))
    make(zone="Asia/Tokyo")

    ids = [record.id for record in reserved(campaign, agents=[agent.pk])]

    assert ids == [record.pk for record in (now, own, progressive, dropped, earlier, late, low, unordered)]


def rows_read(plan: dict[str, Any]) -> float:
    """Return the most rows that one step of the plan has read."""
    own: float = plan["Actual Rows"]
    return max([own, *map(rows_read, plan.get("Plans", []))])


@pytest.mark.trial
@pytest.mark.slow("writes many records")
def test_records_of_one_time_are_read_in_their_order_without_a_sort():
    campaign, now = CampaignFactory(), timezone.now()
    status = {"system_status": "CALL_NO_SOONER_THAN", "next_call_at": now - timedelta(minutes=1)}
    Record.objects.bulk_create(RecordFactory.build_batch(2000, campaign=campaign, **status))
    values = values_of(campaign.pk, "one", groups=OPEN, free_agents=[], now=now) | {"count": 5, "look": 5}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE campaigns_record")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {RESERVE}", values)
        ((plans,),) = cursor.fetchall()

    (explained,) = orjson.loads(plans) if isinstance(plans, str) else plans
    assert rows_read(explained["Plan"]) < 100


def test_a_plan_that_is_made_on_empty_tables_reads_no_table_whole():
    values = values_of(1, "one", groups=OPEN, free_agents=[1], now=timezone.now()) | {"count": 5, "look": 5}
    with connection.cursor() as cursor:
        for table in ("record", "donotcall", "attempt", "additionalnumber"):
            cursor.execute(f"ANALYZE campaigns_{table}")
        cursor.execute(SETTINGS)
        cursor.execute(f"EXPLAIN {RESERVE}", values)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "Seq Scan" not in plan


def test_an_additional_number_whose_call_was_dropped_needs_an_agent():
    number = AdditionalNumberFactory()
    at = timezone.now() - timedelta(hours=5)
    PastAttemptFactory(campaign=CampaignFactory(), phone_number=number.number, dialled_at=at, outcome="dropped")

    assert [found.needs_agent for found in reserved(number.record.campaign)] == [True]


def test_records_to_call_fill_up_what_retries_leave():
    campaign, past = CampaignFactory(), timezone.now() - timedelta(minutes=1)
    to_call = RecordFactory.create_batch(3, campaign=campaign)
    retries = RecordFactory.create_batch(2, campaign=campaign, system_status="CALL_NO_SOONER_THAN", next_call_at=past)

    assert [found.id for found in reserved(campaign, count=4)] == [one.pk for one in [*retries, *to_call[:2]]]


def test_a_reservation_writes_the_lease_only():
    record = RecordFactory()

    assert [found.id for found in reserved(record.campaign)] == [record.pk]

    after = Record.objects.get()
    assert (after.system_status, after.leased_by, after.is_leased) == ("TO_CALL", "one", True)
    assert not after.history.exists()
    assert reserved(record.campaign, holder="two") == []


def test_only_the_holder_gives_a_reservation_back_and_that_of_a_dead_dialler_ends():
    record = RecordFactory()
    reserved(record.campaign)

    give_back([record.pk], "two")
    assert Record.objects.get().is_leased
    give_back([record.pk], "one")
    assert not Record.objects.get().is_leased
    reserved(record.campaign)
    Record.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    assert [found.id for found in reserved(record.campaign, holder="two")] == [record.pk]


def test_zones_and_countries_of_callable_records_are_found():
    campaign = CampaignFactory()
    for zone, code in (("Europe/Warsaw", "48"), ("America/New_York", "1"), ("America/New_York", "48"), ("", "")):
        RecordFactory.create_batch(2, campaign=campaign, zone=zone, calling_code=code)
    RecordFactory(campaign=campaign, zone="America/New_York", calling_code="1", system_status="CALL")
    RecordFactory(campaign=campaign, zone="Asia/Tokyo", system_status="NO_CALL")
    RecordFactory(zone="Africa/Cairo")

    found = [("", ""), ("America/New_York", "1"), ("America/New_York", "48"), ("Europe/Warsaw", "48")]
    assert groups_of(campaign.pk) == [Group(*pair) for pair in found]


def listed(number: str, **values: Any) -> None:
    DoNotCallFactory(phone_number=number, number=number, **values)


def test_listed_and_wrong_numbers_are_held_and_replaced_by_the_next_records():
    campaign, soon = CampaignFactory(), timezone.now() + timedelta(hours=2)
    make = partial(RecordFactory, campaign=campaign)
    by_number, by_prefix, of_campaign = make(), make(phone_number="+48700111222"), make()
    wrong = make(is_number_wrong=True)
    listed(by_number.number, until=soon)
    listed("+48700", is_prefix=True)
    listed(of_campaign.number, campaign=campaign)
    free = [make() for _ in range(5)]
    listed(free[0].number, campaign=CampaignFactory())
    listed(free[1].number, since=soon)
    listed(free[2].number, until=timezone.now() - timedelta(minutes=1))
    listed(free[3].number[:-1])

    assert [record.id for record in reserved(campaign, count=4)] == [record.pk for record in free[:4]]

    held = dict(Record.objects.exclude(held_until=None).values_list("pk", "held_until"))
    assert held.keys() == {by_number.pk, by_prefix.pk, of_campaign.pk, wrong.pk}
    assert (held[by_number.pk], held[wrong.pk]) == (soon, FOR_GOOD)
    assert not Record.objects.get(pk=free[4].pk).leased_by


def test_a_long_run_of_listed_records_does_not_stop_the_choice():
    campaign = CampaignFactory()
    RecordFactory.create_batch(40, campaign=campaign, phone_number=factory.Sequence(lambda n: f"+48700{n:06}"))
    listed("+48700", is_prefix=True)
    last = RecordFactory(campaign=campaign)

    assert [record.id for record in reserved(campaign, count=1)] == [last.pk]
    assert Record.objects.exclude(held_until=None).count() == 40


def test_a_number_called_for_another_record_is_held_for_the_pause(settings):
    settings.DIAL_PAUSE = timedelta(hours=1)
    called, retried, not_dialled, earlier = RecordFactory.create_batch(4, campaign=CampaignFactory())
    at = timezone.now() - timedelta(minutes=20)
    PastAttemptFactory(phone_number=called.phone_number, dialled_at=at)
    PastAttemptFactory(phone_number=retried.phone_number, dialled_at=at, record_id=retried.pk)
    PastAttemptFactory(phone_number=not_dialled.phone_number, dialled_at=at, outcome="not_dialled")
    PastAttemptFactory(phone_number=earlier.phone_number, dialled_at=at - timedelta(minutes=45))

    ids = [record.id for record in reserved(called.campaign)]

    assert ids == [retried.pk, not_dialled.pk, earlier.pk]
    called.refresh_from_db()
    assert called.held_until == at + timedelta(hours=1)


@pytest.mark.parametrize(
    ("hours", "outcome", "needs_agent"),
    [
        *((0.9, outcome, []) for outcome in ("no_answer", "dropped")),
        *((1.1, "no_answer", [False]), (1.1, "dropped", [True]), (71, "dropped", [True]), (73, "dropped", [False])),
    ],
)
def test_the_pause_and_the_guarantee_after_a_drop_hold_across_campaigns(hours, outcome, needs_agent):
    record = RecordFactory(campaign=CampaignFactory())
    at = timezone.now() - timedelta(hours=hours)
    PastAttemptFactory(campaign=CampaignFactory(), phone_number=record.phone_number, dialled_at=at, outcome=outcome)

    assert [one.needs_agent for one in reserved(record.campaign)] == needs_agent


def test_a_record_with_another_number_is_judged_when_it_is_dialled():
    record = AdditionalNumberFactory().record
    listed(record.number)

    assert [found.id for found in reserved(record.campaign)] == [record.pk]


def test_closed_numbers_of_an_open_group_are_not_chosen():
    campaign = CampaignFactory()
    zone = {"campaign": campaign, "zone": "America/New_York"}
    RecordFactory(phone_number="+13055550117", **zone)
    open_one = RecordFactory(phone_number="+12125550117", **zone)
    groups = [Group("America/New_York", "1", ("+1305", "+1786"))]

    assert [found.id for found in reserved(campaign, groups=groups)] == [open_one.pk]


def test_held_records_come_back_when_their_time_has_come():
    now = timezone.now()
    due, later = (RecordFactory(held_until=now + timedelta(minutes=minutes)) for minutes in (-1, 1))

    assert release_held(now) == 1

    due.refresh_from_db()
    later.refresh_from_db()
    assert due.held_until is None
    assert later.held_until is not None


def test_an_edit_lets_a_held_record_be_chosen_at_once(api):
    record = RecordFactory(held_until=FOR_GOOD)

    path = f"/api/outbounds/{record.campaign.code}/records/{record.number}"
    api.put(path, {"additional_numbers": ["+48 22 555 01 18"]})

    record.refresh_from_db()
    assert record.held_until is None


def edit(api: ApiClient, record: Record) -> None:
    api.put(f"/api/outbounds/{record.campaign.code}/records/{record.number}", {"note": "Prefers mornings."})


def remove_prefix(api: ApiClient, record: Record) -> None:
    remove_entry(DoNotCallFactory(phone_number="+48", number="+48", is_prefix=True), ACTOR)


def remove_number(api: ApiClient, record: Record) -> None:
    remove_entry(DoNotCallFactory(phone_number=record.number, number=record.number), ACTOR)


def change_zone(api: ApiClient, record: Record) -> None:
    Record.objects.update(zone="Asia/Tokyo")
    assert fill_zones(record.campaign) == 1


@pytest.mark.usefixtures("switch")
@pytest.mark.parametrize("change", [edit, remove_prefix, remove_number, change_zone])
def test_no_change_of_a_dropped_record_brings_its_next_call_forward(api, change):
    campaign = dialling_campaign()
    tick(campaign)
    Attempt.objects.update(outcome="dropped")
    unanswered_call(open_call(), 16)

    change(api, Record.objects.get())

    now, agents = timezone.now(), list(campaign.agents.values_list("pk", flat=True))
    assert Record.objects.get().held_until is None
    assert not has_due(campaign.pk, groups=OPEN, free_agents=agents, now=now)
    assert reserved(campaign, agents=agents) == []
    after_delay = now + timedelta(hours=1, minutes=1)
    found = reserve(campaign.pk, "one", 1, groups=OPEN, free_agents=agents, now=after_delay)
    assert [record.needs_agent for record in found] == [True]


@pytest.mark.trial
@pytest.mark.slow("runs threads")
def test_several_diallers_never_reserve_the_same_record(committed_db):
    campaign = CampaignFactory()
    RecordFactory.create_batch(60, campaign=campaign)

    def take(holder):
        found = []
        for _ in range(5):
            with transaction.atomic():
                found += [record.id for record in reserved(campaign, count=4, holder=holder)]
        return found

    taken = Counter(pk for ids in at_once([partial(take, f"dialler-{n}") for n in range(4)]) for pk in ids)

    assert set(taken.values()) == {1}
