"""What the admin does with a webhook, and with what failed: test, rotate, disable, send again."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.urls import reverse
from django.utils import timezone

from tests.backoffice import errors_of, inputs_of, messages_of, page_of, superuser
from tests.conftest import ACTOR
from tests.webhooks.due import history
from tests.webhooks.factories import DeliveryFactory, ResendFactory, WebhookFactory
from webhooks import retention, tasks
from webhooks.models import Delivery, Resend, Webhook
from webhooks.verbs import webhooks
from webhooks.verbs import webhooks as verbs
from webhooks.verbs.webhooks import remove_webhook, resend_piece, start_resend

LIST = reverse("admin:webhooks_webhook_changelist")
DELIVERIES = reverse("admin:webhooks_delivery_changelist")
ACTIONS = ["send_test", "enable", "disable", "show_secret", "rotate_secret", "resend_failed"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "local_receivers")]


# Actions on one webhook


def test_the_secret_is_shown_uncached_and_logged():
    webhook = WebhookFactory()

    response = superuser().post(page_of(webhook, "show_secret"))

    assert webhook.secret in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert history(webhook) == ["create", "show_secret"]


def test_the_old_secret_signs_during_the_chosen_overlap_and_a_page_that_is_sent_twice_makes_one_new():
    webhook = WebhookFactory()
    client, path, old = superuser(), page_of(webhook, "rotate_secret"), webhook.secret
    form = inputs_of(client.page(path)) | {"overlap_hours": "48"}

    response, _again = client.post(path, form), client.post(path, form)

    webhook.refresh_from_db()
    assert webhook.signing_secrets == [webhook.secret, old]
    assert webhook.secret in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert webhook.previous_secret_expires_at > timezone.now() + timedelta(hours=47)


def test_a_test_event_is_sent_at_once():
    webhook = WebhookFactory(paused=True)

    superuser().submit(page_of(webhook, "send_test"))

    webhook.refresh_from_db()
    assert (Delivery.objects.get().event.action, webhook.is_paused) == ("TEST", False)


def test_a_webhook_is_disabled_and_enabled_on_its_page_and_in_the_list():
    webhook = WebhookFactory()
    client = superuser()

    states = []
    for act in (
        lambda: client.submit(page_of(webhook, "disable")),
        lambda: client.submit(page_of(webhook, "enable")),
        lambda: client.act(LIST, "disable_selected", webhook, apply="1"),
        lambda: client.act(LIST, "enable_selected", webhook),
    ):
        act()
        states.append(Webhook.objects.get().is_active)

    assert states == [False, True, False, True]
    assert history(webhook)[1:] == ["disable: person", "enable"] * 2


def test_the_page_offers_only_useful_actions():
    on, off = WebhookFactory(), WebhookFactory(is_active=False)
    client = superuser()

    pages = [(client.page(page_of(webhook)), webhook) for webhook in (on, off)]
    offered = [[name for name in ("enable", "disable") if page_of(webhook, name) in page] for page, webhook in pages]
    assert offered == [["disable"], ["enable"]]


def test_a_webhook_is_removed_by_its_verb():
    webhook = WebhookFactory(http_auth_password="pass")

    superuser().submit(page_of(webhook, "delete"), post="yes")

    webhook.refresh_from_db()
    assert webhook.deleted_at is not None
    assert webhook.http_auth_password == ""
    assert superuser().get(page_of(webhook)).status_code == 302


@pytest.mark.parametrize(
    ("name", "verb"), [("send_test", "send_test"), ("enable", "enable_webhook"), ("rotate_secret", "rotate_secret")]
)
def test_an_action_says_that_another_person_removed_the_webhook_meanwhile(name, verb, monkeypatch):
    webhook = WebhookFactory()
    client = superuser()
    form = inputs_of(client.page(page_of(webhook, name)))
    run = getattr(verbs, verb)

    def run_too_late(webhook, *args, **kwargs):
        remove_webhook(Webhook.objects.get(pk=webhook.pk), ACTOR)
        retention.purge(webhook.pk)
        return run(webhook, *args, **kwargs)

    monkeypatch.setattr(verbs, verb, run_too_late)
    response = client.post(page_of(webhook, name), form)

    assert response.status_code == 302
    assert "Something else changed at the same time; try again." in messages_of(response)


# Sending again


@pytest.mark.parametrize("state", ["failed", "succeeded", "put_off"])
def test_one_delivery_is_sent_again_with_all_attempts_before_it(state):
    delivery = DeliveryFactory(**{state: True})

    superuser().submit(f"{DELIVERIES}{delivery.pk}/resend/")

    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempt_count, delivery.finished_at) == ("waiting", 0, None)
    assert delivery.next_attempt_at <= timezone.now()
    change = delivery.webhook.history.latest("id")
    assert (change.action, change.changes) == ("resend", {"deliveries": [None, 1]})


def test_claimed_deliveries_are_not_resent():
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


def test_failed_deliveries_since_a_time_are_resent_in_the_background():
    webhook = WebhookFactory()
    now = timezone.localtime()
    new = DeliveryFactory(webhook=webhook, failed=True)
    old = DeliveryFactory(webhook=webhook, failed=True, finished_at=now - timedelta(days=3))
    later = DeliveryFactory(webhook=webhook, put_off=True)
    other = DeliveryFactory(failed=True)
    since = now - timedelta(days=2)

    response = superuser().submit(
        page_of(webhook, "resend_failed"), since_0=f"{since:%Y-%m-%d}", since_1=f"{since:%H:%M}", includes_waiting=None
    )
    job = Resend.objects.get()
    before = superuser().page(response["Location"])
    after_it = DeliveryFactory(webhook=webhook, failed=True, finished_at=timezone.now() + timedelta(seconds=1))
    tasks.resend(job.pk)
    after = superuser().page(response["Location"])

    states = [Delivery.objects.get(pk=delivery.pk).state for delivery in (new, old, other, after_it)]
    assert states == ["waiting", "failed", "failed", "failed"]
    assert Delivery.objects.get(pk=later.pk).next_attempt_at == later.next_attempt_at
    assert "It begins in a moment." in before
    assert "1 delivery was made due." in after


def test_a_resend_includes_waiting_deliveries_on_request():
    webhook = WebhookFactory()
    later = DeliveryFactory(webhook=webhook, put_off=True)
    DeliveryFactory(webhook=webhook, failed=True)

    tasks.resend(start_resend(webhook, ACTOR, timezone.now() - timedelta(days=1), includes_waiting=True).pk)

    later.refresh_from_db()
    assert later.next_attempt_at <= timezone.now()
    assert Resend.objects.get().done_count == 2


def test_a_resend_that_was_killed_half_way_goes_on(monkeypatch):
    monkeypatch.setattr(webhooks, "PIECE", 2)
    webhook = WebhookFactory()
    DeliveryFactory.create_batch(5, webhook=webhook, failed=True)
    job = start_resend(webhook, ACTOR, timezone.now() - timedelta(days=1))

    # A worker that dies after it has made two parts due
    resend_piece(job)
    resend_piece(job)
    assert (job.done_count, job.total_count, job.percent, job.state) == (4, 5, 80, "running")
    Resend.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    enqueued = []
    monkeypatch.setattr(tasks, "enqueue", lambda *call: enqueued.append(call))

    # The sweep finds the rest
    tasks.sweep_resends()
    for _name, pk in enqueued:
        tasks.resend(pk)

    # Each delivery was made due once
    job.refresh_from_db()
    assert (job.done_count, job.state) == (5, "finished")
    assert Delivery.objects.waiting().count() == 5
    assert enqueued == [("webhooks.resend", job.pk)]


def test_a_webhook_has_one_resend_at_a_time(committed_db):
    job = ResendFactory()

    with pytest.raises(IntegrityError):
        start_resend(job.webhook, ACTOR, timezone.now())

    since = timezone.localtime() - timedelta(hours=1)
    response = superuser().submit(
        page_of(job.webhook, "resend_failed"), expected=200, since_0=f"{since:%Y-%m-%d}", since_1=f"{since:%H:%M}"
    )
    assert errors_of(response) == {"": ["What failed is being sent again already."]}
