"""The rules of retries: when a record is called again after an outcome or a result, and when it is given up."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Q
from django.utils import timezone

from campaigns.models import Attempt, RetryRule, SystemStatus
from campaigns.models.rules import CampaignFacts, StatusFact

Outcome = Attempt.Outcome


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a campaign, or a default."""

    delay: timedelta
    is_multiplied: bool
    most_attempts: int


# Defaults of a campaign without a rule of its own for the outcome. None is shorter than the default of DIAL_PAUSE,
# which holds for other records only.
DEFAULTS = {
    Outcome.BUSY: Rule(timedelta(hours=1), is_multiplied=True, most_attempts=6),
    Outcome.NO_ANSWER: Rule(timedelta(hours=2), is_multiplied=True, most_attempts=6),
    Outcome.FAILED: Rule(timedelta(hours=4), is_multiplied=True, most_attempts=3),
    Outcome.DROPPED: Rule(timedelta(hours=1), is_multiplied=False, most_attempts=6),
    Outcome.MACHINE: Rule(timedelta(hours=3), is_multiplied=True, most_attempts=6),
}
# Calls with these outcomes use no attempt of their record.
NO_ATTEMPTS = (Outcome.NOT_DIALLED, Outcome.CANCELLED)
# A rule of a status gives the next call to records that are called at a time. Others have none.
NEVER_RETRIED = sorted(set(SystemStatus.values) - SystemStatus.needing_next_call())


def rule_for(campaign_id: int, outcome: str) -> Rule:
    """Return the campaign's rule for this outcome, else the default."""
    own = RetryRule.objects.filter(campaign_id=campaign_id, outcome=outcome).first()
    return _rule(own) if own else DEFAULTS[Outcome(outcome)]


def _rule(row: RetryRule) -> Rule:
    others = {each.name: getattr(row, each.name) for each in fields(Rule) if each.name != "delay"}
    return Rule(timedelta(seconds=row.delay_seconds), **others)


def next_call(rule: Rule, record_id: int, now: datetime, *, is_attempt: bool = True) -> datetime | None:
    """Return when the record is called again, or None if its attempts are used up.

    A record with as many attempts today as a day may have is called tomorrow at the earliest. Without `is_attempt` the
    call has used none up.
    """
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    made = Attempt.objects.filter(record_id=record_id).exclude(outcome__in=NO_ATTEMPTS).order_by()
    counts = made.aggregate(all=Count("pk"), today=Count("pk", filter=Q(dialled_at__gte=midnight)))
    if is_attempt and counts["all"] >= min(rule.most_attempts, settings.DIAL_ATTEMPTS_PER_RECORD):
        return None
    at = now + rule.delay * (max(counts["all"], 1) if rule.is_multiplied else 1)
    # The day after, at midnight: days of a clock change have other lengths than 24 hours.
    tomorrow = timezone.localtime(midnight + timedelta(hours=26)).replace(hour=0)
    return max(at, tomorrow) if counts["today"] >= settings.DIAL_ATTEMPTS_PER_DAY else at


def with_status_rule(
    campaign: CampaignFacts, record_id: int, values: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """Return the values of a result, with the next call by the rule of its status if the result has none itself.

    A record whose attempts are used up gets the campaign's status for that.
    """
    result = dict(values)
    status = _status(campaign, values)
    if status is None or values.get("next_call_at") or status.system_status in NEVER_RETRIED:
        return result
    own = RetryRule.objects.filter(campaign_id=campaign.id, status_id=status.id).first()
    if own is None:
        return result
    result["next_call_at"] = next_call(_rule(own), record_id, now)
    if result["next_call_at"] is None:
        of_abandoned = (fact.id for fact in campaign.statuses.values() if fact.system_status == _ABANDONED)
        result["status_id"] = next(of_abandoned, values.get("status_id"))
        result.pop("dictionary_status_id", None)
    return result


_ABANDONED = SystemStatus.ABANDONED_AFTER_N_TRIES


def _status(campaign: CampaignFacts, values: Mapping[str, Any]) -> StatusFact | None:
    if values.get("status_id") is not None:
        return campaign.statuses.get(values["status_id"])
    dictionary_id = values.get("dictionary_status_id")
    return campaign.by_dictionary(dictionary_id) if dictionary_id is not None else None
