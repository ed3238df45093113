"""The health of receivers, for the pages of webhooks, their list and the front page."""

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from django.db.models import Count, Min, QuerySet
from django.db.models.functions import TruncHour
from django.utils import timezone
from django.utils.formats import localize
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from webhooks.admin.id_ranges import within
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
    def day(self) -> Hour:
        """The sums of all hours."""
        counts = ((hour.delivered, hour.tried_again, hour.given_up) for hour in self.hours)
        return Hour(self.hours[0].starts_at, *map(sum, zip(*counts, strict=True)))

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


def health_of(webhook: Webhook) -> Health:
    return Health(state_of(webhook), _hours(webhook), queue_of(webhook), _failures(webhook))


def _hours(webhook: Webhook) -> list[Hour]:
    """Return the last hours, with the current one at the end."""
    last = timezone.now().replace(minute=0, second=0, microsecond=0)
    starts = [last - timedelta(hours=ago) for ago in reversed(range(HOURS))]
    # An index alone answers for the attempts.
    attempts = within(webhook.attempts.order_by(), "started_at", starts[0], None)
    delivered = _by_hour(attempts.exclude(FAILED_ATTEMPT), "started_at")
    failed = _by_hour(attempts.filter(FAILED_ATTEMPT), "started_at")
    given_up = _by_hour(webhook.deliveries.failed().order_by().filter(finished_at__gte=starts[0]), "finished_at")
    # The last attempt of a given-up delivery counts as given up, not as tried again.
    return [Hour(at, delivered[at], max(failed[at] - given_up[at], 0), given_up[at]) for at in starts]


def _by_hour(rows: QuerySet[Any], column: str) -> Counter[datetime]:
    hours = rows.values_list(TruncHour(column, tzinfo=UTC)).annotate(Count("pk"))
    return Counter(dict(hours))


def queue_of(webhook: Webhook) -> Queue:
    waiting = webhook.deliveries.waiting().order_by("next_attempt_at", "id")[: MOST_COUNTED + 1]
    found = waiting.aggregate(count=Count("pk"), oldest=Min("pk"), next=Min("next_attempt_at"))
    oldest = Event.objects.filter(deliveries=found["oldest"]).values_list("created_at", flat=True).first()
    return Queue(found["count"], oldest, next_attempt(webhook, found["next"]) if found["count"] else None)


def _failures(webhook: Webhook) -> list[Failure]:
    attempts = Attempt.objects.filter(FAILED_ATTEMPT, webhook=webhook).order_by("-id")
    shown = list(attempts.select_related("delivery")[:SHOWN_FAILURES])
    events = Event.objects.in_bulk([attempt.delivery.event_id for attempt in shown])
    return [Failure(attempt, events.get(attempt.delivery.event_id), webhook) for attempt in shown]
