"""Events, deliveries and attempts in the admin: found among millions, and read-only."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.backoffice import page_of, shown, superuser
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.webhooks.factories import AttemptFactory, DeliveryFactory, EventFactory, ResendFactory, WebhookFactory
from webhooks.admin.id_ranges import first_id_since
from webhooks.models import Event
from webhooks.verbs.webhooks import send_test

EVENTS = reverse("admin:webhooks_event_changelist")
DELIVERIES = reverse("admin:webhooks_delivery_changelist")
ATTEMPTS = reverse("admin:webhooks_attempt_changelist")

# Address, query, statements: session, user, rows, their parents, and the look-ups of a filter or a search.
LISTS = [
    (EVENTS, {"action__exact": "TICKET_CREATED"}, 3),
    (EVENTS, {"q": "ticket:1"}, 3),
    (EVENTS, {"date_from": "2026-01-01"}, 5),
    (DELIVERIES, {"state": "waiting"}, 6),
    (DELIVERIES, {"state": "succeeded"}, 5),
    (ATTEMPTS, {"outcome": "succeeded"}, 6),
]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


# Events


def test_events_are_found_by_id_sequence_and_subject():
    first, second = EventFactory(subject="record:1204"), EventFactory(subject="record:12")
    client = superuser()

    found = [shown(client.page(EVENTS, q=q), first, second) for q in (first.event_id, second.pk, "record:1204")]

    assert found == [[first], [second], [first]]


def test_deliveries_and_attempts_are_found_by_their_event():
    attempt, other = AttemptFactory(), AttemptFactory()
    client = superuser()

    for term in (attempt.delivery.event.event_id, attempt.delivery.event.subject, attempt.delivery.event_id):
        assert shown(client.page(DELIVERIES, q=term), attempt.delivery, other.delivery) == [attempt.delivery]
        assert shown(client.page(ATTEMPTS, q=term), attempt, other) == [attempt]


def test_deliveries_are_filtered_by_webhook_state_and_date():
    webhook = WebhookFactory()
    other = DeliveryFactory(succeeded=True, event__created_at=timezone.now() - timedelta(days=3))
    waiting = DeliveryFactory(webhook=webhook)
    failed = DeliveryFactory(webhook=webhook, failed=True)
    client, everything = superuser(), (waiting, failed, other)
    day = f"{timezone.localdate():%Y-%m-%d}"

    found = [
        shown(client.page(DELIVERIES, **query), *everything)
        for query in (
            {"webhook__id__exact": webhook.pk},
            {"state": "waiting"},
            {"state": "failed", "webhook__id__exact": webhook.pk},
            {"state": "waiting", "webhook__id__exact": other.webhook_id},
            {"date_from": day},
            {"date_to": "2020-01-01"},
        )
    ]

    assert found == [[waiting, failed], [waiting], [failed], [], [waiting, failed], []]


def test_attempts_are_filtered_by_webhook_outcome_and_date():
    good, bad = AttemptFactory(), AttemptFactory(failed=True)
    old = AttemptFactory(started_at=timezone.now() - timedelta(days=3))
    client = superuser()
    day = f"{timezone.localdate():%Y-%m-%d}"

    found = [
        shown(client.page(ATTEMPTS, **query), good, bad, old)
        for query in (
            {"outcome": "failed"},
            {"outcome": "succeeded", "date_from": day},
            {"webhook__id__exact": bad.webhook_id},
            {"date_from": day, "date_to": day},
        )
    ]

    assert found == [[bad], [good], [bad], [good, bad]]


def test_query_counts_of_event_lists_are_constant():
    AttemptFactory.create_batch(12)
    client = superuser()

    for path, query, queries in LISTS:
        with few_statements(queries):
            client.page(path, **query)


def test_rows_of_a_period_are_found_by_binary_search_with_gaps_in_ids():
    start = timezone.now() - timedelta(days=10)
    events = [EventFactory(created_at=start + timedelta(hours=hour)) for hour in range(40)]
    Event.objects.filter(pk__in=[event.pk for event in events[5:20]]).delete()

    instants = [start + timedelta(hours=hour, minutes=-1) for hour in (0, 7, 30, 99)]
    ids = [first_id_since(Event, "created_at", instant) for instant in instants]

    found = [Event.objects.filter(pk__gte=first).order_by("pk").first() for first in ids]
    assert found == [events[0], events[20], events[30], None]


def test_events_of_a_long_transaction_are_found_by_their_day(monkeypatch):
    """An import over midnight: its events have its beginning's time, and higher ids than some of the next day."""
    monkeypatch.setattr("webhooks.admin.deliveries.MARGIN", 0)
    midnight = datetime(2026, 6, 1, 22, 0, tzinfo=UTC)
    before, after = midnight - timedelta(minutes=2), midnight + timedelta(minutes=1)
    instants = [before] * 20 + [after] + [before] * 20
    deliveries = [DeliveryFactory(event__created_at=instant) for instant in instants]
    next_day = deliveries.pop(20)
    client = superuser()

    def found(path, **query):
        return set(client.get(path, query).context["cl"].queryset.values_list("pk", flat=True))

    assert found(EVENTS, date_to="2026-06-01") == {delivery.event_id for delivery in deliveries}
    assert found(EVENTS, date_from="2026-06-02") == {next_day.event_id}
    assert found(DELIVERIES, date_to="2026-06-01") >= {delivery.pk for delivery in deliveries}
    assert found(DELIVERIES, date_from="2026-06-02") >= {next_day.pk}


def test_a_delivery_whose_event_has_been_cleared_away_is_still_shown():
    attempt = AttemptFactory()
    Event.objects.all().delete()
    client = superuser()

    for path in (DELIVERIES, ATTEMPTS, page_of(attempt), page_of(attempt.delivery)):
        client.page(path)


def test_pages_of_deliveries_show_times_to_the_second_and_states_in_words():
    at = datetime(2026, 6, 1, 10, 20, 37, tzinfo=UTC)
    attempt = AttemptFactory(failed=True, error="timeout", started_at=at, delivery__event__created_at=at)
    client = superuser()

    for path in (EVENTS, DELIVERIES, ATTEMPTS):
        assert "2026-06-01 12:20:37" in client.page(path)

    assert "500 timeout" in client.page(page_of(attempt))
    for row in (attempt, attempt.delivery, ResendFactory(webhook=attempt.webhook)):
        assert "(&#x27;" not in client.page(page_of(row))


def test_the_page_of_an_event_shows_its_action_what_is_sent_and_to_whom():
    delivery = DeliveryFactory(event__payload={"name": "Łucja <b>"})
    send_test(delivery.webhook, ACTOR)

    page, of_test = (superuser().page(page_of(event)) for event in Event.objects.order_by("pk"))

    assert "Łucja &lt;b&gt;" in page
    assert delivery.webhook.subscription_url in page
    assert re.search(r">\s*TEST\s*<", of_test)
