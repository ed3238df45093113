"""The rules of retries: when a record is called again after an outcome, and when it is given up."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from campaigns.models import Attempt, RetryRule

Outcome = Attempt.Outcome


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a campaign, or a default."""

    delay: timedelta
    is_multiplied: bool
    most_attempts: int


# Defaults of a campaign without a rule of its own for the outcome.
DEFAULTS = {
    Outcome.BUSY: Rule(timedelta(minutes=10), is_multiplied=True, most_attempts=6),
    Outcome.NO_ANSWER: Rule(timedelta(hours=2), is_multiplied=True, most_attempts=6),
    Outcome.FAILED: Rule(timedelta(hours=4), is_multiplied=True, most_attempts=3),
    Outcome.DROPPED: Rule(timedelta(hours=1), is_multiplied=False, most_attempts=6),
    Outcome.MACHINE: Rule(timedelta(hours=3), is_multiplied=True, most_attempts=6),
}


def rule_for(campaign_id: int, outcome: str) -> Rule:
    """Return the campaign's rule for this outcome, else the default."""
    own = RetryRule.objects.filter(campaign_id=campaign_id, outcome=outcome).first()
    if own:
        return Rule(timedelta(seconds=own.delay_seconds), own.is_multiplied, own.most_attempts)
    return DEFAULTS[Outcome(outcome)]


def next_call(rule: Rule, attempts: int, attempts_today: int, now: datetime) -> datetime | None:
    """Return when the record is called again, or None if its attempts are used up.

    A record with as many attempts today as a day may have is called tomorrow at the earliest.
    """
    if attempts >= min(rule.most_attempts, settings.DIAL_ATTEMPTS_PER_RECORD):
        return None
    at = now + rule.delay * (attempts if rule.is_multiplied else 1)
    if attempts_today >= settings.DIAL_ATTEMPTS_PER_DAY:
        midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
        at = max(at, midnight + timedelta(days=1))
    return at
