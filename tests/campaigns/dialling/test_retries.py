"""The rules of retries: of outcomes, of results, and the limits of a day and of a record."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.models import Attempt, Record
from campaigns.models.rules import CampaignFacts
from campaigns.verbs.retries import DEFAULTS, Rule, next_call, rule_for, with_status_rule
from tests.campaigns.dialling.calls import dialling_campaign, only_record, open_call, tick, unanswered_call
from tests.campaigns.factories import CampaignFactory, PastAttemptFactory, RecordFactory, RetryRuleFactory

pytestmark = pytest.mark.django_db

NOON = datetime.fromisoformat("2026-03-02T12:00+01:00")
TEN_MINUTES = timedelta(minutes=10)


def called(record: Record, *times: datetime, outcome: str = "busy") -> None:
    for at in times:
        PastAttemptFactory(campaign=record.campaign, record_id=record.pk, dialled_at=at, outcome=outcome)


def test_a_campaigns_rule_wins_over_the_default():
    own, other = RetryRuleFactory(outcome="busy", delay_seconds=60, most_attempts=2).campaign, CampaignFactory()

    assert rule_for(own.pk, "busy") == Rule(timedelta(minutes=1), is_multiplied=False, most_attempts=2)
    assert rule_for(other.pk, "busy") == Rule(timedelta(hours=1), is_multiplied=True, most_attempts=6)


@pytest.mark.parametrize("outcome", DEFAULTS)
def test_a_default_is_no_shorter_than_the_pause_between_two_calls(outcome):
    assert DEFAULTS[Attempt.Outcome(outcome)].delay >= timedelta(hours=1)


@pytest.mark.parametrize(("is_multiplied", "minutes"), [(False, 10), (True, 20)])
def test_the_delay_is_fixed_or_times_the_attempts(settings, is_multiplied, minutes):
    settings.DIAL_ATTEMPTS_PER_DAY = 9
    record = RecordFactory()
    called(record, NOON - timedelta(hours=3), NOON)
    called(record, NOON, outcome="not_dialled")

    assert next_call(Rule(TEN_MINUTES, is_multiplied, 6), record.pk, NOON) == NOON + timedelta(minutes=minutes)


def test_attempts_are_limited_by_the_rule_and_by_the_setting(settings):
    record = RecordFactory()
    called(record, *(NOON - timedelta(days=days) for days in range(1, 4)))

    assert next_call(Rule(TEN_MINUTES, False, 4), record.pk, NOON) is not None
    assert next_call(Rule(TEN_MINUTES, False, 3), record.pk, NOON) is None
    settings.DIAL_ATTEMPTS_PER_RECORD = 3
    assert next_call(Rule(TEN_MINUTES, False, 4), record.pk, NOON) is None


@pytest.mark.parametrize(
    ("now", "tomorrow"),
    [
        ("2026-03-02T12:00+01:00", "2026-03-03T00:00+01:00"),
        # Days of 23 and of 25 hours.
        ("2026-03-29T12:00+02:00", "2026-03-30T00:00+02:00"),
        ("2026-10-25T12:00+01:00", "2026-10-26T00:00+01:00"),
    ],
)
def test_a_day_has_two_attempts(now, tomorrow):
    record, at = RecordFactory(), datetime.fromisoformat(now)
    called(record, at - timedelta(hours=1), at)

    assert next_call(Rule(TEN_MINUTES, False, 6), record.pk, at) == datetime.fromisoformat(tomorrow)


@pytest.fixture
def campaign():
    return CampaignFactory()


def with_rule(record: Record, **values: Any) -> dict[str, Any]:
    facts = CampaignFacts.read(record.campaign.code)
    assert facts is not None
    return with_status_rule(facts, record.pk, values, NOON)


def test_the_rule_of_a_status_gives_the_next_call(campaign):
    later = campaign.statuses.get(dictionary_status__key="call_later")
    RetryRuleFactory(campaign=campaign, outcome="", status=later, delay_seconds=1800)
    record = RecordFactory(campaign=campaign)
    called(record, NOON, outcome="answered")

    given = {"status_id": later.pk, "next_call_at": None}
    assert with_rule(record, **given) == {**given, "next_call_at": NOON + timedelta(minutes=30)}
    by_dictionary = {"dictionary_status_id": later.dictionary_status_id, "next_call_at": None}
    assert with_rule(record, **by_dictionary)["next_call_at"] == NOON + timedelta(minutes=30)
    # The agent's own time wins.
    tomorrow = NOON + timedelta(days=1)
    assert with_rule(record, status_id=later.pk, next_call_at=tomorrow)["next_call_at"] == tomorrow


def test_a_result_after_the_last_attempt_gives_the_record_up(campaign):
    later = campaign.statuses.get(dictionary_status__key="call_later")
    abandoned = campaign.statuses.get(system_status="ABANDONED_AFTER_N_TRIES")
    RetryRuleFactory(campaign=campaign, outcome="", status=later, delay_seconds=1800, most_attempts=1)
    record = RecordFactory(campaign=campaign)
    called(record, NOON, outcome="answered")

    assert with_rule(record, dictionary_status_id=later.dictionary_status_id, next_call_at=None) == {
        "status_id": abandoned.pk,
        "next_call_at": None,
    }


def test_a_status_without_a_rule_changes_nothing(campaign):
    contacted = campaign.statuses.get(dictionary_status__key="contacted")
    record = RecordFactory(campaign=campaign)

    given = {"status_id": contacted.pk, "next_call_at": None, "last_note": "Happy."}
    assert with_rule(record, **given) == given
    assert with_rule(record, last_note="x") == {"last_note": "x"}
    assert with_rule(record, status_id=1_000_000) == {"status_id": 1_000_000}


def test_a_dropped_record_is_called_one_to_one_after_the_delay(switch, monkeypatch):
    campaign = dialling_campaign()
    RetryRuleFactory(campaign=campaign, outcome="dropped", delay_seconds=1800)
    tick(campaign)
    Attempt.objects.update(outcome="dropped")

    unanswered_call(open_call(), 16)

    record, now = only_record(), timezone.now()
    assert record.system_status == "CALL_PROGRESSIVE"
    assert record.next_call_at is not None
    assert timedelta(minutes=29) < record.next_call_at - now <= timedelta(minutes=30)
    assert record.one_to_one_until is not None
    assert timedelta(hours=71) < record.one_to_one_until - now <= timedelta(hours=72)
