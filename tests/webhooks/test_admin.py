"""Webhooks in the admin: is the receiver healthy, what can be done about it, and nothing secret on any page."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import IntegrityError, connection
from django.urls import reverse
from django.utils import timezone

from tests.backoffice import errors_of, inputs_of, messages_of, staff, superuser
from tests.conftest import ACTOR
from tests.webhooks.factories import (
    AttemptFactory,
    DeliveryFactory,
    EventFactory,
    ResendFactory,
    WebhookChangeFactory,
    WebhookFactory,
)
from webhooks import tasks
from webhooks.admin.spans import first_id_since
from webhooks.models import Attempt, Delivery, Event, Resend, Webhook, resend

LIST = reverse("admin:webhooks_webhook_changelist")
ADD = reverse("admin:webhooks_webhook_add")
EVENTS = reverse("admin:webhooks_event_changelist")
DELIVERIES = reverse("admin:webhooks_delivery_changelist")
ATTEMPTS = reverse("admin:webhooks_attempt_changelist")
INDEX = reverse("admin:index")
ACTIONS = ["test", "enable", "disable", "secret", "rotate-secret", "resend-failed"]

# A page of a webhook: session, user, webhook twice, hours (3), queue (2), failures (2), history, resends.
QUERIES_OF_PAGE = 13
# Address, query, statements: session, user, rows, what they belong to, and what a filter or a search asks before.
LISTS = [
    (EVENTS, {}, 3),
    (EVENTS, {"action": "TICKET_CREATED"}, 3),
    (EVENTS, {"q": "ticket:1"}, 3),
    (EVENTS, {"date_from": "2026-01-01"}, 4),
    (DELIVERIES, {}, 5),
    (DELIVERIES, {"state": "waiting"}, 6),
    (DELIVERIES, {"state": "succeeded"}, 5),
    (ATTEMPTS, {}, 6),
    (ATTEMPTS, {"outcome": "succeeded"}, 6),
]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


@pytest.fixture(autouse=True)
def _quiet(settings):
    """No messages leave, and receivers may be here."""
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    cache.clear()


def page_of(obj, page="change"):
    return reverse(f"admin:webhooks_{obj._meta.model_name}_{page}", args=[obj.pk])


def of(webhook, name):
    """The address of one of the actions of its page."""
    return f"{LIST}{webhook.pk}/{name}/"


def history(webhook):
    return list(webhook.history.order_by("id").values_list("action", "actor_name", "changes"))


# Is it healthy?


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "Nothing has been delivered yet."),
        ({"healthy": True}, "Healthy: last success"),
        ({"failing": True}, "Failing since"),
        ({"paused": True}, "After 4 failures in a row it is left alone until"),
        ({"given_up": True}, "nothing but failures for five days"),
        (
            {"is_active": False, "disabled_because": "gone", "disabled_at": timezone.now()},
            "the receiver answered 410: it wants no more",
        ),
    ],
)
def test_the_page_of_a_webhook_begins_with_its_state(values, sentence):
    webhook = WebhookFactory(**values)

    assert sentence in superuser().page(page_of(webhook))


def test_the_page_counts_what_became_of_the_last_day_hour_by_hour(time_machine):
    time_machine.move_to("2026-11-21 12:30:00+00:00", tick=False)
    webhook = WebhookFactory()
    now = timezone.now()
    for hours, count, values in (
        (0, 2, {"status": 200}),
        (0, 1, {"status": 500}),
        (3, 1, {"status": None, "error": "timeout"}),
        (25, 5, {"status": 200}),
    ):
        AttemptFactory.create_batch(count, delivery__webhook=webhook, started_at=now - timedelta(hours=hours), **values)
    DeliveryFactory(webhook=webhook, failed=True, finished_at=now - timedelta(hours=3))
    AttemptFactory(status=204)

    response = superuser().get(page_of(webhook))

    health = response.context["health"]
    assert (health.delivered, health.tried_again, health.given_up) == (2, 1, 1)
    busy = [(f"{hour.starts_at:%H}", hour.delivered, hour.tried_again, hour.given_up) for hour in health.busy_hours]
    assert busy == [
        ("12", 2, 1, 0),
        ("09", 0, 0, 1),
    ]
    assert len(health.hours) == 24
    assert 'data-type="bar"' in response.content.decode()


def test_the_page_says_how_many_wait_for_how_long_and_when_the_next_is_tried():
    webhook = WebhookFactory(paused=True)
    old = EventFactory(created_at=timezone.now() - timedelta(hours=2, minutes=5))
    DeliveryFactory(webhook=webhook, event=old)
    DeliveryFactory.create_batch(2, webhook=webhook)
    DeliveryFactory()

    response = superuser().get(page_of(webhook))

    queue = response.context["health"].queue
    assert (queue.count, queue.next_attempt_at) == (3, webhook.open_until)
    assert "waiting, the oldest for 2 hours, 5 minutes" in response.content.decode().replace("\xa0", " ")


def test_the_page_shows_the_last_failures_with_the_answer_escaped():
    webhook = WebhookFactory()
    delivery = DeliveryFactory(webhook=webhook, put_off=True, event__subject="ticket:77")
    AttemptFactory(delivery=delivery, status=503, milliseconds=1234, answer="<script>alert(1)</script>")
    AttemptFactory(delivery=delivery, status=None, error="timeout")
    AttemptFactory(delivery=delivery, status=200, answer="fine")
    AttemptFactory(failed=True, answer="of another")

    page = superuser().page(page_of(webhook))

    assert all(part in page for part in ("503", "timeout", "1,234 ms", "ticket:77", "next attempt"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page
    assert "of another" not in page


@pytest.mark.parametrize("count", [1, 30])
def test_the_page_takes_the_same_queries_however_much_happened(count, django_assert_num_queries):
    webhook = WebhookFactory(failing=True)
    for _ in range(count):
        AttemptFactory(delivery__webhook=webhook, status=500)
        DeliveryFactory(webhook=webhook)
        WebhookChangeFactory(webhook=webhook)
    client = superuser()

    with django_assert_num_queries(QUERIES_OF_PAGE):
        client.page(page_of(webhook))


@pytest.mark.parametrize("count", [1, 30])
def test_the_list_takes_the_same_queries_however_many_webhooks_there_are(count, django_assert_num_queries):
    for webhook in WebhookFactory.create_batch(count):
        DeliveryFactory(webhook=webhook)
    client = superuser()

    with django_assert_num_queries(5):
        client.page(LIST)


def test_the_list_is_filtered_by_state():
    healthy, failing, disabled = (
        WebhookFactory(healthy=True),
        WebhookFactory(failing=True),
        WebhookFactory(given_up=True),
    )
    client = superuser()

    found = []
    for state in ("healthy", "failing", "disabled"):
        page = client.page(LIST, health=state)
        found.append([webhook for webhook in (healthy, failing, disabled) if page_of(webhook) in page])

    assert found == [[healthy], [failing], [disabled]]


# Adding and editing


def test_a_webhook_is_added_by_the_verb():
    superuser().submit(
        ADD,
        subscription_url="http://127.0.0.1:9/hook",
        actions=["TICKET_CREATED", "AGENT_FREE"],
        format="form",
        new_user="crm",
        new_password=" with spaces ",
    )

    webhook = Webhook.objects.get()
    assert (webhook.subscription_url, webhook.actions, webhook.format) == (
        "http://127.0.0.1:9/hook",
        ["TICKET_CREATED", "AGENT_FREE"],
        "form",
    )
    assert (webhook.http_auth_user, webhook.http_auth_password) == ("crm", " with spaces ")
    assert [action for action, *_ in history(webhook)] == ["create"]


@pytest.mark.parametrize(
    ("changes", "errors"),
    [
        ({"subscription_url": "http://10.0.0.1/"}, {"subscription_url": ["Webhooks are not sent to this network."]}),
        (
            {"subscription_url": "ftp://crm.invalid/"},
            {"subscription_url": ["The address must start with http:// or https://."]},
        ),
        (
            {"subscription_url": "http://user:pass@crm.invalid/"},
            {"subscription_url": ["The address cannot hold a login: write it into the fields below."]},
        ),
        ({"actions": []}, {"actions": ["This field is required."]}),
        ({"new_user": "a:b"}, {"new_user": ["The user of Basic authentication has no colon."]}),
    ],
)
def test_the_form_refuses_what_the_api_refuses(changes, errors):
    webhook = WebhookFactory(subscription_url="http://crm.invalid/")

    response = superuser().submit(page_of(webhook), expected=200, **changes)

    assert errors_of(response) == errors
    assert history(Webhook.objects.get())[1:] == []


def test_an_edit_is_kept_in_the_history_without_what_is_secret():
    webhook = WebhookFactory(http_auth_user="old-user", http_auth_password="old-pass")

    superuser().submit(page_of(webhook), actions=["AGENT_FREE"], new_password="new-pass")

    webhook.refresh_from_db()
    assert (webhook.http_auth_user, webhook.http_auth_password) == ("old-user", "new-pass")
    assert history(webhook)[-1][2] == {
        "actions": [["TICKET_CREATED"], ["AGENT_FREE"]],
        "http_auth_password": ["***", "***"],
    }
    page = superuser().page(page_of(webhook))
    assert "password of Basic authentication" in page


def test_credentials_are_removed_by_ticking_a_box_and_stay_otherwise():
    webhook = WebhookFactory(http_auth_user="old-user", http_auth_password="old-pass")
    client = superuser()

    client.submit(page_of(webhook), format="form")
    stayed = Webhook.objects.get(pk=webhook.pk)
    client.submit(page_of(webhook), forget_credentials="on")

    removed = Webhook.objects.get(pk=webhook.pk)
    assert (stayed.http_auth_user, stayed.http_auth_password, stayed.format) == ("old-user", "old-pass", "form")
    assert (removed.http_auth_user, removed.http_auth_password) == ("", "")


def test_nothing_secret_is_on_any_page():
    webhook = WebhookFactory(http_auth_user="the-user", http_auth_password="the-pass")
    webhook.rotate_secret(ACTOR)
    webhook.edit(ACTOR, http_auth_user="the-user2")
    delivery = AttemptFactory(delivery__webhook=webhook).delivery
    client = superuser()

    paths = [INDEX, LIST, DELIVERIES, ATTEMPTS, page_of(webhook), page_of(delivery), of(webhook, "secret")]
    pages = "".join(client.page(path) for path in [*paths, reverse("admin:webhooks_webhookchange_changelist")])

    for text in (webhook.secret, webhook.previous_secret, "the-user", "the-pass"):
        assert text not in pages


def test_a_new_address_is_as_good_as_untried():
    webhook = WebhookFactory(paused=True)

    webhook.edit(ACTOR, subscription_url="https://elsewhere.invalid/")

    webhook.refresh_from_db()
    assert (webhook.failing_since, webhook.open_until, webhook.failures_in_a_row) == (None, None, 0)


# What can be done with one


def test_the_secret_is_shown_on_request_to_no_cache_and_that_is_kept():
    webhook = WebhookFactory()

    response = superuser().post(of(webhook, "secret"))

    assert webhook.secret in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert [action for action, *_ in history(webhook)] == ["create", "show_secret"]


def test_a_new_secret_signs_along_with_the_old_one_for_the_hours_that_were_asked():
    webhook = WebhookFactory()
    old = webhook.secret

    response = superuser().submit(of(webhook, "rotate-secret"), expected=200, overlap_hours="48")

    webhook.refresh_from_db()
    assert webhook.signing_secrets == [webhook.secret, old]
    assert webhook.secret in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert webhook.previous_secret_expires_at > timezone.now() + timedelta(hours=47)


def test_a_page_for_a_new_secret_that_is_sent_twice_makes_one():
    webhook = WebhookFactory()
    client = superuser()
    form = inputs_of(client.page(of(webhook, "rotate-secret")))

    client.post(of(webhook, "rotate-secret"), form)
    webhook.refresh_from_db()
    secret = webhook.secret
    client.post(of(webhook, "rotate-secret"), form)

    webhook.refresh_from_db()
    assert webhook.secret == secret


def test_a_test_event_is_sent_to_this_webhook_alone_and_at_once():
    webhook, _other = WebhookFactory(paused=True), WebhookFactory()

    superuser().submit(of(webhook, "test"))

    delivery = Delivery.objects.get()
    webhook.refresh_from_db()
    assert (delivery.webhook, delivery.event.action) == (webhook, "TEST")
    assert not webhook.is_paused


def test_a_webhook_is_disabled_and_enabled_on_its_page_and_in_the_list():
    webhook = WebhookFactory()
    client = superuser()

    states = []
    for act in (
        lambda: client.submit(of(webhook, "disable")),
        lambda: client.submit(of(webhook, "enable")),
        lambda: client.act(LIST, "disable_selected", webhook),
        lambda: client.act(LIST, "enable_selected", webhook),
    ):
        act()
        states.append(Webhook.objects.get().is_active)

    assert states == [False, True, False, True]
    assert [action for action, *_ in history(webhook)][1:] == ["disable: person", "enable"] * 2


def test_the_page_offers_only_what_makes_a_difference():
    on, off = WebhookFactory(), WebhookFactory(is_active=False)
    client = superuser()

    offered = [[name for name in ("enable", "disable") if of(w, name) in client.page(page_of(w))] for w in (on, off)]

    assert offered == [["disable"], ["enable"]]


def test_a_webhook_is_removed_by_its_verb():
    webhook = WebhookFactory(http_auth_password="pass")

    superuser().submit(page_of(webhook, "delete"), post="yes")

    webhook.refresh_from_db()
    assert webhook.deleted_at is not None
    assert webhook.http_auth_password == ""
    assert superuser().get(page_of(webhook)).status_code == 302


@pytest.mark.parametrize("name", ACTIONS)
def test_whoever_only_looks_does_nothing(name):
    webhook = WebhookFactory(http_auth_password="pass")
    client = staff("view_webhook", "view_delivery")
    before = history(webhook)

    page = client.page(page_of(webhook))
    response = client.post(of(webhook, name), {})

    assert response.status_code == 403
    assert of(webhook, name) not in page
    assert "new_password" not in page
    assert history(webhook) == before


def test_whoever_only_looks_sends_nothing_again():
    delivery = DeliveryFactory(failed=True)
    client = staff("view_delivery")

    client.act(DELIVERIES, "resend_selected", delivery)
    response = client.post(f"{DELIVERIES}{delivery.pk}/resend/")

    delivery.refresh_from_db()
    assert (response.status_code, delivery.state) == (403, "failed")


# Sending again


@pytest.mark.parametrize("state", ["failed", "succeeded", "put_off"])
def test_one_delivery_is_sent_again_with_all_attempts_before_it(state):
    delivery = DeliveryFactory(**{state: True})

    superuser().submit(f"{DELIVERIES}{delivery.pk}/resend/")

    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempt_count, delivery.finished_at) == ("waiting", 0, None)
    assert delivery.next_attempt_at <= timezone.now()
    assert history(delivery.webhook)[-1][::2] == ("resend", {"deliveries": [None, 1]})


def test_what_a_worker_may_hold_is_not_sent_again():
    held = DeliveryFactory(attempt_count=1, next_attempt_at=timezone.now() + timedelta(seconds=50))
    of_removed = DeliveryFactory(failed=True, webhook__deleted_at=timezone.now())
    failed = DeliveryFactory(failed=True)

    response = superuser().act(DELIVERIES, "resend_selected", held, of_removed, failed)

    assert messages_of(response) == [
        "1 delivery is sent again.",
        "2 deliveries are about to be sent anyway, or their webhook was removed.",
    ]
    held.refresh_from_db()
    assert held.attempt_count == 1


def test_all_that_failed_since_a_time_is_sent_again_in_the_background():
    webhook = WebhookFactory()
    now = timezone.localtime()
    new = DeliveryFactory(webhook=webhook, failed=True)
    old = DeliveryFactory(webhook=webhook, failed=True, finished_at=now - timedelta(days=3))
    later = DeliveryFactory(webhook=webhook, put_off=True)
    other = DeliveryFactory(failed=True)
    since = now - timedelta(days=2)

    response = superuser().submit(
        of(webhook, "resend-failed"), since_0=f"{since:%Y-%m-%d}", since_1=f"{since:%H:%M}", includes_waiting=None
    )
    job = Resend.objects.get()
    before = superuser().page(response["Location"])
    tasks.resend(job.pk)
    after = superuser().page(response["Location"])

    states = [Delivery.objects.get(pk=delivery.pk).state for delivery in (new, old, other)]
    assert states == ["waiting", "failed", "failed"]
    assert Delivery.objects.get(pk=later.pk).next_attempt_at == later.next_attempt_at
    assert "It begins in a moment." in before
    assert "1 delivery was made due." in after


def test_what_waits_for_a_later_attempt_is_sent_too_where_that_is_asked():
    webhook = WebhookFactory()
    later = DeliveryFactory(webhook=webhook, put_off=True)
    DeliveryFactory(webhook=webhook, failed=True)

    tasks.resend(Resend.start(ACTOR, webhook, timezone.now() - timedelta(days=1), includes_waiting=True).pk)

    later.refresh_from_db()
    assert later.next_attempt_at <= timezone.now()
    assert Resend.objects.get().done_count == 2


def test_a_resend_that_was_killed_half_way_goes_on(monkeypatch):
    monkeypatch.setattr(resend, "PIECE", 2)
    webhook = WebhookFactory()
    DeliveryFactory.create_batch(5, webhook=webhook, failed=True)
    job = Resend.start(ACTOR, webhook, timezone.now() - timedelta(days=1))

    # given a worker that makes two pieces due and is gone
    job.step()
    job.step()
    assert (job.done_count, job.total_count, job.percent, job.state) == (4, 5, 80, "running")
    Resend.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    woken = []
    monkeypatch.setattr(tasks, "wake", lambda *call: woken.append(call))

    # when the sweep finds it
    tasks.sweep_resends()
    for _name, pk in woken:
        tasks.resend(pk)

    # then each has been made due once
    job.refresh_from_db()
    assert (job.done_count, job.state) == (5, "finished")
    assert Delivery.objects.waiting().count() == 5
    assert woken == [("webhooks.resend", job.pk)]


def test_a_resend_leaves_alone_what_fails_after_it_was_asked_for():
    webhook = WebhookFactory()
    job = Resend.start(ACTOR, webhook, timezone.now() - timedelta(days=1))
    after = DeliveryFactory(webhook=webhook, failed=True, finished_at=timezone.now() + timedelta(seconds=1))

    tasks.resend(job.pk)

    after.refresh_from_db()
    assert after.state == "failed"


def test_a_webhook_has_one_resend_at_a_time(committed_db):
    job = ResendFactory()

    with pytest.raises(IntegrityError):
        Resend.start(ACTOR, job.webhook, timezone.now())

    since = timezone.localtime() - timedelta(hours=1)
    response = superuser().submit(
        of(job.webhook, "resend-failed"), expected=200, since_0=f"{since:%Y-%m-%d}", since_1=f"{since:%H:%M}"
    )
    assert errors_of(response) == {"": ["What failed is being sent again already."]}


# What happened


def shown(page, *rows):
    return [row for row in rows if page_of(row) in page]


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


@pytest.mark.parametrize("path", [EVENTS, DELIVERIES, ATTEMPTS])
@pytest.mark.parametrize(
    "query",
    [
        {"q": "x" * 500},
        {"q": "'; --"},
        {"q": "9" * 30},
        {"date_from": "nonsense"},
        {"date_from": "2026-02-30"},
        {"date_from": "0001-01-01", "date_to": "9999-12-31"},
        {"p": "2"},
    ],
)
def test_whatever_is_asked_for_there_is_a_page(path, query):
    AttemptFactory()

    assert superuser().get(path, query).status_code in (200, 302)


def test_deliveries_are_filtered_by_webhook_state_and_date():
    webhook = WebhookFactory()
    waiting = DeliveryFactory(webhook=webhook)
    failed = DeliveryFactory(webhook=webhook, failed=True)
    other = DeliveryFactory(succeeded=True, event__created_at=timezone.now() - timedelta(days=3))
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


@pytest.mark.parametrize("count", [1, 55])
@pytest.mark.parametrize(("path", "query", "queries"), LISTS)
def test_lists_of_what_was_sent_take_the_same_queries_however_long_they_are(
    path, query, queries, count, django_assert_num_queries
):
    AttemptFactory.create_batch(count)
    DeliveryFactory.create_batch(count)
    client = superuser()

    with django_assert_num_queries(queries):
        client.page(path, **query)


def test_rows_of_a_time_are_found_by_halving_also_where_ids_are_missing():
    start = timezone.now() - timedelta(days=10)
    events = [EventFactory(created_at=start + timedelta(hours=hour)) for hour in range(40)]
    Event.objects.filter(pk__in=[event.pk for event in events[5:20]]).delete()

    found = []
    for hour in (0, 7, 30, 99):
        first = first_id_since(Event, "created_at", start + timedelta(hours=hour, minutes=-1))
        found.append(Event.objects.filter(pk__gte=first).order_by("pk").first())

    assert found == [events[0], events[20], events[30], None]


def test_a_delivery_whose_event_has_been_cleared_away_is_still_shown():
    attempt = AttemptFactory()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM webhooks_event")
    client = superuser()

    for path in (DELIVERIES, ATTEMPTS, page_of(attempt), page_of(attempt.delivery)):
        client.page(path)


def test_the_page_of_an_event_shows_what_is_sent_and_to_whom():
    delivery = DeliveryFactory(event__payload={"name": "Łucja <b>"})

    page = superuser().page(page_of(delivery.event))

    assert "Łucja &lt;b&gt;" in page
    assert delivery.webhook.subscription_url in page


@pytest.mark.parametrize("model", [Event, Delivery, Attempt])
def test_nobody_adds_changes_or_deletes_what_was_sent(model):
    attempt = AttemptFactory()
    row = {Event: attempt.delivery.event, Delivery: attempt.delivery, Attempt: attempt}[model]
    client = superuser()

    responses = [
        client.get(reverse(f"admin:webhooks_{model._meta.model_name}_add")),
        client.post(page_of(row), {"x": 1}),
        client.post(page_of(row, "delete"), {"post": "yes"}),
    ]

    assert [response.status_code for response in responses] == [403, 403, 403]


# The front page


def test_the_front_page_names_receivers_that_get_nothing_first():
    WebhookFactory(healthy=True, subscription_url="https://well.invalid/")
    WebhookFactory(failing=True, subscription_url="https://ill.invalid/")
    WebhookFactory(given_up=True, subscription_url="https://dead.invalid/")

    page = superuser().page(INDEX)

    assert "https://well.invalid/" not in page
    assert page.index("https://ill.invalid/") < page.index("https://dead.invalid/") < page.index("Active campaigns")


def test_the_front_page_says_that_all_is_well_below_the_rest():
    WebhookFactory(healthy=True)

    page = superuser().page(INDEX)

    assert page.index("Active campaigns") < page.index("All receivers are healthy.")


def test_the_front_page_says_nothing_of_webhooks_to_those_who_may_not_see_them():
    WebhookFactory(failing=True, subscription_url="https://ill.invalid/")

    assert "https://ill.invalid/" not in staff("view_campaign").page(INDEX)
