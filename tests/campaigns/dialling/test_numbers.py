"""The numbers of a record in turn, and the checks at the dial."""

from datetime import datetime, time, timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.opening_hours import WeeklyHours
from campaigns.dialling.choice import FOR_GOOD
from campaigns.dialling.hours import Hours, Span, read_hours
from campaigns.dialling.numbers import CallableNumber, next_number, numbers_of
from campaigns.models import CampaignHours, Record
from telephony.models import Connection
from tests.campaigns.dialling.calls import dialling_campaign, only_attempt, only_record, tick
from tests.campaigns.factories import (
    AdditionalNumberFactory,
    CampaignFactory,
    DoNotCallFactory,
    PastAttemptFactory,
    RecordFactory,
)
from tests.tickets.factories import CustomerFactory

pytestmark = pytest.mark.django_db

OWN, FIRST, SECOND = "+48225550117", "+48225550118", "+48225550119"


def record_of_three(**values: Any) -> Record:
    record: Record = RecordFactory(phone_number=OWN, **values)
    for number in (FIRST, SECOND):
        AdditionalNumberFactory(record=record, phone_number=number)
    return record


def chosen(record: Record, hours: Hours | None = None) -> Any:
    found = callable_number(record, hours or Hours())
    return found.number if isinstance(found, CallableNumber) else found


def callable_number(record: Record, hours: Hours) -> CallableNumber | datetime:
    now = timezone.now()
    return next_number(record.campaign, record, numbers_of(record.campaign, record, now), hours, now)


def attempt(record: Record, number: str, outcome: str = "no_answer") -> None:
    PastAttemptFactory(campaign=record.campaign, record_id=record.pk, phone_number=number, outcome=outcome)


def test_each_attempt_calls_the_next_number():
    record = record_of_three()
    turns = []
    for _ in range(4):
        turns.append(chosen(record))
        attempt(record, turns[-1])

    assert turns == [OWN, FIRST, SECOND, OWN]


def test_a_campaign_may_change_the_number_after_some_outcomes_only():
    record = record_of_three(campaign=CampaignFactory(number_turn="outcome"))
    attempt(record, OWN, "busy")
    assert chosen(record) == OWN
    attempt(record, OWN, "no_answer")
    assert chosen(record) == FIRST


def test_wrong_and_listed_numbers_are_passed_over_and_a_record_without_others_waits():
    record, soon = record_of_three(is_number_wrong=True), timezone.now() + timedelta(hours=3)
    DoNotCallFactory(phone_number=FIRST)
    assert chosen(record) == SECOND

    DoNotCallFactory(phone_number=SECOND, until=soon)
    assert chosen(record) == soon
    # Until an edit, with wrong numbers only.
    assert chosen(RecordFactory(is_number_wrong=True)) == FOR_GOOD


def test_a_closed_number_is_looked_at_again_within_an_hour():
    closed = Hours(spans=(Span(frozenset(), time(9), time(17)),))
    until = chosen(RecordFactory(), closed)

    assert timedelta(minutes=59) < until - timezone.now() <= timedelta(hours=1)


def test_the_zone_of_an_additional_number_is_its_own():
    record = RecordFactory(phone_number=OWN, is_number_wrong=True)
    AdditionalNumberFactory(record=record, phone_number="+12125550117")
    found = callable_number(record, Hours())

    assert isinstance(found, CallableNumber)
    assert (found.number, found.zone) == ("+12125550117", "America/New_York")


def test_the_zone_of_a_customer_is_that_of_all_numbers():
    campaign = CampaignFactory(crm=True)
    record = RecordFactory(campaign=campaign, phone_number=OWN)
    AdditionalNumberFactory(record=record, phone_number="+12125550117")
    CustomerFactory(phone_numbers=[OWN], time_zone="Asia/Tokyo")
    CustomerFactory(phone_numbers=[OWN], time_zone="Asia/Tbilisi")

    zones = [facts.zone for facts in numbers_of(campaign, record, timezone.now())]
    campaign.is_crm = False
    zones_of_file = [facts.zone for facts in numbers_of(campaign, record, timezone.now())]

    assert zones == ["Asia/Tokyo"] * 2
    assert zones_of_file == ["Europe/Warsaw", "America/New_York"]


# At the dial


def test_the_attempt_names_zone_and_rule(switch):
    campaign = dialling_campaign()
    for weekday in WeeklyHours.Weekday.values:
        CampaignHours.objects.create(campaign=campaign, weekday=weekday, begins_at=time(0), ends_at=time(23, 59))

    tick(campaign)

    attempt = only_attempt()
    assert (attempt.zone, attempt.rule) == ("Europe/Warsaw", "campaign 00:00–23:59")


def test_nothing_is_dialled_outside_the_hours(switch):
    campaign = dialling_campaign()
    weekday = timezone.localtime().isoweekday() % 7 + 1
    CampaignHours.objects.create(campaign=campaign, weekday=weekday, begins_at=time(9), ends_at=time(10))

    tick(campaign)

    assert not Connection.objects.exists()
    assert only_record().held_until is None


@pytest.mark.parametrize("listed", [(OWN, FIRST), (OWN,)])
def test_a_listed_number_is_passed_over_for_the_next_one(switch, listed):
    campaign = dialling_campaign(records=0)
    record = RecordFactory(campaign=campaign, phone_number=OWN)
    AdditionalNumberFactory(record=record, phone_number=FIRST)
    for number in listed:
        DoNotCallFactory(phone_number=number)

    tick(campaign)

    assert list(Connection.objects.values_list("dst", flat=True)) == [FIRST][len(listed) - 1 :]
    if FIRST in listed:
        record.refresh_from_db()
        assert (record.is_leased, record.system_status) == (False, "TO_CALL")
        assert record.held_until is not None


def test_the_dial_mends_a_zone_that_is_out_of_date(switch):
    campaign = dialling_campaign(records=0)
    RecordFactory(campaign=campaign, phone_number="+12125550117", zone="", calling_code="")
    assert not read_hours(campaign).spans

    tick(campaign)

    record = only_record()
    assert (record.zone, record.calling_code) == ("America/New_York", "1")
