"""Webhooks in the admin: is the receiver healthy, how is it edited, and nothing secret on any page."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.backoffice import errors_of, page_of, shown, staff, superuser
from tests.statements import few_statements
from tests.webhooks.due import history
from tests.webhooks.factories import AttemptFactory, DeliveryFactory, EventFactory, WebhookChangeFactory, WebhookFactory
from webhooks.admin.forms import GROUPS
from webhooks.event_types import EventType
from webhooks.models import Webhook

LIST = reverse("admin:webhooks_webhook_changelist")
ADD = reverse("admin:webhooks_webhook_add")
DELIVERIES = reverse("admin:webhooks_delivery_changelist")
ATTEMPTS = reverse("admin:webhooks_attempt_changelist")
INDEX = reverse("admin:index")

# A page of a webhook: session, user, webhook twice, hours (4), queue (2), failures (2), history, resends.
QUERIES_OF_PAGE = 14

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "local_receivers")]


# Health


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "Nothing has been delivered yet."),
        ({"healthy": True}, "Healthy: last success"),
        ({"failing": True}, "Failing since"),
        ({"failing": True, "failures_in_a_row": 0}, "Answers, but has taken no event since"),
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


def test_the_page_counts_deliveries_of_the_last_day_by_hour(time_machine):
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
    assert (health.day.delivered, health.day.tried_again, health.day.given_up) == (2, 1, 1)
    busy = [(f"{hour.starts_at:%H}", hour.delivered, hour.tried_again, hour.given_up) for hour in health.busy_hours]
    assert busy == [("12", 2, 1, 0), ("09", 0, 0, 1)]
    assert len(health.hours) == 24
    assert 'data-type="bar"' in response.content.decode()


def test_the_page_shows_waiting_deliveries_and_the_next_attempt():
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


def test_the_number_of_statements_of_the_page_is_constant():
    webhook = WebhookFactory(failing=True)
    for _ in range(30):
        AttemptFactory(delivery__webhook=webhook, status=500)
        DeliveryFactory(webhook=webhook)
        WebhookChangeFactory(webhook=webhook)
    client = superuser()

    with few_statements(QUERIES_OF_PAGE):
        client.page(page_of(webhook))


def test_the_list_is_filtered_by_state():
    webhooks = [WebhookFactory(**{state: True}) for state in ("healthy", "failing", "given_up")]
    client = superuser()

    found = [shown(client.page(LIST, health=state), *webhooks) for state in ("healthy", "failing", "disabled")]

    assert found == [[webhook] for webhook in webhooks]


# Adding and editing


def test_the_form_says_of_each_action_what_has_happened_and_groups_it():
    page = superuser().page(ADD)

    for action in EventType:
        assert str(action.label) != action.value
        assert f"{action.label} <code>{action.value}</code>" in page
    assert page.count("<legend>") == len({str(title) for title in GROUPS.values()})


def test_lists_and_readers_see_actions_by_what_they_are_about():
    webhook = WebhookFactory(actions=["TICKET_CREATED", "TICKET_DELETED", "AGENT_FREE"])

    assert "Tickets 2, Agents 1" in superuser().page(LIST)
    assert "Tickets: A ticket is opened. A ticket is deleted." in staff("view_webhook").page(page_of(webhook))


def test_a_webhook_is_added_by_the_verb():
    values = {"subscription_url": "http://127.0.0.1:9/hook", "actions": ["TICKET_CREATED", "AGENT_FREE"]}
    superuser().submit(ADD, **values, format="form", new_user="crm", new_password=" with spaces ")

    webhook = Webhook.objects.get(**values, format="form")
    assert (webhook.http_auth_user, webhook.http_auth_password) == ("crm", " with spaces ")
    assert history(webhook) == ["create"]


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("subscription_url", "http://10.0.0.1/", "Webhooks are not sent to this network."),
        (
            "subscription_url",
            "http://user:pass@crm.invalid/",
            "The address cannot hold a login: write it into the fields below.",
        ),
        ("actions", [], "This field is required."),
        ("new_user", "a:b", "The user of Basic authentication has no colon."),
    ],
)
def test_the_form_refuses_what_the_api_refuses(field, value, error):
    webhook = WebhookFactory(subscription_url="http://crm.invalid/")

    response = superuser().submit(page_of(webhook), expected=200, **{field: value})

    assert errors_of(response) == {field: [error]}
    assert history(webhook) == ["create"]


def test_credentials_stay_until_they_are_replaced_or_removed_by_ticking_a_box_and_the_history_shows_none():
    webhook = WebhookFactory(http_auth_user="old-user", http_auth_password="old-pass")
    client = superuser()

    def edit(**values):
        client.submit(page_of(webhook), **values)
        webhook.refresh_from_db()
        return webhook.http_auth_user, webhook.http_auth_password

    assert (*edit(format="form"), webhook.format) == ("old-user", "old-pass", "form")
    assert edit(actions=["AGENT_FREE"], new_password="new-pass") == ("old-user", "new-pass")
    changes = {"actions": [["TICKET_CREATED"], ["AGENT_FREE"]], "http_auth_password": ["***", "***"]}
    assert webhook.history.latest("id").changes == changes
    assert "password of Basic authentication" in client.page(page_of(webhook))
    assert edit(forget_credentials="on") == ("", "")


def test_another_address_needs_the_password_again_and_resets_the_health():
    webhook = WebhookFactory(http_auth_user="user", http_auth_password="old-pass", paused=True)
    client, before = superuser(), webhook.subscription_url

    response = client.submit(page_of(webhook), expected=200, subscription_url="http://127.0.0.1:9/other")
    refused = Webhook.objects.get()
    client.submit(page_of(webhook), subscription_url="http://127.0.0.1:9/other", new_password="new-pass")

    assert errors_of(response) == {"new_password": ["Enter the password again: it would be sent to another server."]}
    assert (refused.subscription_url, refused.http_auth_password) == (before, "old-pass")
    changed = Webhook.objects.get()
    assert (changed.subscription_url, changed.http_auth_password) == ("http://127.0.0.1:9/other", "new-pass")
    assert (changed.failing_since, changed.open_until, changed.failures_in_a_row) == (None, None, 0)
    client.submit(page_of(webhook), subscription_url="http://127.0.0.1:9/third", forget_credentials="on")
    changed.refresh_from_db()
    assert (changed.subscription_url, changed.http_auth_password) == ("http://127.0.0.1:9/third", "")


def test_the_front_page_shows_failing_receivers_first_and_else_that_all_is_well_below_the_rest():
    WebhookFactory(healthy=True, subscription_url="https://well.invalid/")
    well = superuser().page(INDEX)
    WebhookFactory(failing=True, subscription_url="https://ill.invalid/")
    WebhookFactory(given_up=True, subscription_url="https://dead.invalid/")

    page = superuser().page(INDEX)

    assert well.index("Active campaigns") < well.index("All receivers are healthy.")
    assert "https://well.invalid/" not in page
    assert page.index("https://ill.invalid/") < page.index("https://dead.invalid/") < page.index("Active campaigns")
    assert "https://ill.invalid/" not in staff("view_campaign").page(INDEX)
