"""The health of receivers, for the pages of webhooks, their list and the front page."""

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from django.db import connection
from django.utils import timezone
from django.utils.formats import localize
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from webhooks.admin.id_ranges import MARGIN, first_id_since
from webhooks.models import Attempt, Delivery, Event, Webhook
from webhooks.models.delivery import FAILED_ATTEMPT

HOURS = 24
SHOWN_FAILURES = 10
# A higher count is shown as "more", because counting takes time.
MOST_COUNTED = 100_000

Colour = Literal["success", "warning", "danger", "info"]


class State(NamedTuple):
    colour: Colour
    label: str
    # A whole sentence, for the page of the webhook.
    sentence: str


def state_of(webhook: Webhook) -> State:
    since = _moment(webhook.failing_since)
    if not webhook.is_active:
        why = webhook.get_disabled_because_display() or _("the reason is not known")
        at = _moment(webhook.disabled_at)
        colour: Colour = "info" if webhook.disabled_because == Webhook.Reason.PERSON else "danger"
        return State(colour, _("disabled"), _("Disabled since %(at)s: %(why)s.") % {"at": at, "why": why})
    if webhook.is_paused:
        row = ngettext("%(count)s failure in a row", "%(count)s failures in a row", webhook.failures_in_a_row)
        values = {"row": row % {"count": webhook.failures_in_a_row}, "at": _moment(webhook.open_until), "since": since}
        sentence = _("Failing since %(since)s. After %(row)s it is left alone until %(at)s.")
        return State("danger", _("paused"), sentence % values)
    if webhook.failing_since and not webhook.failures_in_a_row:
        sentence = _("Answers, but has taken no event since %(since)s. Each event is tried again on its own schedule.")
        return State("warning", _("refusing"), sentence % {"since": since})
    if webhook.failing_since:
        return State("danger", _("failing"), _("Failing since %(since)s.") % {"since": since})
    if webhook.last_success_at is None:
        return State("info", _("not tried"), _("Nothing has been delivered yet."))
    return State("success", _("healthy"), _("Healthy: last success %(at)s.") % {"at": _moment(webhook.last_success_at)})


def _moment(instant: datetime | None) -> str:
    return str(localize(timezone.localtime(instant))) if instant else ""


def next_attempt(webhook: Webhook, due_at: datetime | None) -> datetime | None:
    """Return when a delivery is tried, after its due time and the receiver's pause; None for now."""
    at = max(filter(None, [due_at, webhook.open_until]), default=None)
    return at if at and at > timezone.now() else None


@dataclass(frozen=True, slots=True)
class Hour:
    starts_at: datetime
    delivered: int
    tried_again: int
    given_up: int

    @property
    def is_quiet(self) -> bool:
        return not (self.delivered or self.tried_again or self.given_up)


@dataclass(frozen=True, slots=True)
class Queue:
    """Waiting deliveries of a webhook. A `count` above MOST_COUNTED means more than that."""

    count: int
    oldest_at: datetime | None = None
    # None: now.
    next_attempt_at: datetime | None = None

    @property
    def is_beyond_count(self) -> bool:
        return self.count > MOST_COUNTED

    @property
    def shown_count(self) -> int:
        return min(self.count, MOST_COUNTED)

    @property
    def oldest_age(self) -> str:
        return timesince(self.oldest_at) if self.oldest_at else ""


@dataclass(frozen=True, slots=True)
class Failure:
    attempt: Attempt
    event: Event | None
    webhook: Webhook

    @property
    def what(self) -> str:
        attempt = self.attempt
        return " ".join(str(part) for part in (attempt.status, attempt.error) if part)

    @property
    def then(self) -> str:
        delivery: Delivery = self.attempt.delivery
        if delivery.state == Delivery.State.WAITING:
            if not self.webhook.is_active:
                return _("waits until the webhook is enabled")
            at = next_attempt(self.webhook, delivery.next_attempt_at)
            return _("next attempt %(at)s") % {"at": _moment(at)} if at else _("next attempt now")
        if delivery.state == Delivery.State.SUCCEEDED:
            return _("delivered since")
        return _("given up")


@dataclass(frozen=True, slots=True)
class Health:
    state: State
    hours: list[Hour]
    queue: Queue
    failures: list[Failure] = field(default_factory=list)

    @property
    def delivered(self) -> int:
        return sum(hour.delivered for hour in self.hours)

    @property
    def tried_again(self) -> int:
        return sum(hour.tried_again for hour in self.hours)

    @property
    def given_up(self) -> int:
        return sum(hour.given_up for hour in self.hours)

    @property
    def busy_hours(self) -> list[Hour]:
        return [hour for hour in reversed(self.hours) if not hour.is_quiet]

    @property
    def chart(self) -> str:
        """The data for the theme's chart: one stack of bars an hour."""
        return json.dumps(
            {
                "labels": [f"{timezone.localtime(hour.starts_at):%H:%M}" for hour in self.hours],
                "datasets": [
                    _bars(_("delivered"), "#16a34a", [hour.delivered for hour in self.hours]),
                    _bars(_("failed, tried again"), "#f59e0b", [hour.tried_again for hour in self.hours]),
                    _bars(_("given up"), "#dc2626", [hour.given_up for hour in self.hours]),
                ],
            }
        )


def _bars(label: str, colour: str, counts: list[int]) -> dict[str, Any]:
    return {"label": label, "backgroundColor": colour, "data": counts, "stack": "all", "maxBarThickness": 24}


_AXIS = {"stacked": True, "border": {"width": 0}, "ticks": {"color": "#9ca3af", "precision": 0, "maxRotation": 0}}
CHART_OPTIONS = json.dumps(
    {
        "animation": False,
        "responsive": True,
        "maintainAspectRatio": False,
        "interaction": {"mode": "index", "intersect": False},
        "plugins": {"legend": {"display": True, "align": "end", "labels": {"color": "#9ca3af", "boxWidth": 10}}},
        "scales": {
            "x": {**_AXIS, "grid": {"display": False}},
            "y": {**_AXIS, "beginAtZero": True, "suggestedMax": 4, "grid": {"tickWidth": 0}},
        },
    }
)

# Attempts and failed deliveries by hour. An index alone answers the first one.
_ATTEMPTS = """
SELECT floor(extract(epoch FROM started_at) / 3600)::bigint,
       count(*) FILTER (WHERE status BETWEEN 200 AND 299), count(*)
FROM webhooks_attempt WHERE webhook_id = %s AND id >= %s AND started_at >= %s GROUP BY 1
"""
_GIVEN_UP = """
SELECT floor(extract(epoch FROM finished_at) / 3600)::bigint, count(*)
FROM webhooks_delivery WHERE webhook_id = %s AND state = 'failed' AND finished_at >= %s GROUP BY 1
"""
_QUEUE = """
SELECT count(*), min(id), min(next_attempt_at) FROM (
  SELECT id, next_attempt_at FROM webhooks_delivery WHERE webhook_id = %s AND state = 'waiting'
  ORDER BY next_attempt_at, id LIMIT %s
) AS counted
"""


def health_of(webhook: Webhook) -> Health:
    return Health(state_of(webhook), _hours(webhook), queue_of(webhook), _failures(webhook))


def _hours(webhook: Webhook) -> list[Hour]:
    """Return the last hours, with the current one at the end."""
    last = timezone.now().replace(minute=0, second=0, microsecond=0)
    starts = [last - timedelta(hours=ago) for ago in reversed(range(HOURS))]
    delivered: Counter[int] = Counter()
    failed: Counter[int] = Counter()
    given_up: Counter[int] = Counter()
    with connection.cursor() as cursor:
        first = first_id_since(Attempt, "started_at", starts[0])
        cursor.execute(_ATTEMPTS, [webhook.pk, first - MARGIN, starts[0]])
        for hour, successes, attempts in cursor.fetchall():
            delivered[hour], failed[hour] = successes, attempts - successes
        cursor.execute(_GIVEN_UP, [webhook.pk, starts[0]])
        for hour, count in cursor.fetchall():
            given_up[hour] = count
    result = []
    for start in starts:
        hour = int(start.timestamp()) // 3600
        # The last attempt of a given-up delivery counts as given up, not as tried again.
        result.append(Hour(start, delivered[hour], max(failed[hour] - given_up[hour], 0), given_up[hour]))
    return result


def queue_of(webhook: Webhook) -> Queue:
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE, [webhook.pk, MOST_COUNTED + 1])
        count, oldest_id, next_attempt_at = cursor.fetchone()
    if not count:
        return Queue(0)
    oldest = Event.objects.filter(deliveries=oldest_id).values_list("created_at", flat=True).first()
    return Queue(count, oldest, next_attempt(webhook, next_attempt_at))


def _failures(webhook: Webhook) -> list[Failure]:
    attempts = Attempt.objects.filter(FAILED_ATTEMPT, webhook=webhook).order_by("-id")
    shown = list(attempts.select_related("delivery")[:SHOWN_FAILURES])
    events = Event.objects.in_bulk([attempt.delivery.event_id for attempt in shown])
    return [Failure(attempt, events.get(attempt.delivery.event_id), webhook) for attempt in shown]
