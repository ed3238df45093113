"""Registrations over the API."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.errors import ErrorCode
from tests.conftest import ACTOR
from tests.webhooks.factories import DeliveryFactory, WebhookFactory
from webhooks.event_types import EventType
from webhooks.models import Delivery, Webhook
from webhooks.signing import is_secret
from webhooks.verbs.webhooks import disable_webhook

pytestmark = [pytest.mark.django_db]

# A literal address, so that no name is looked up.
URL = "https://[2606:4700::1111]/hook"
BODY = {"actions": ["CHAT_CONVERSATION_CREATED", "CHAT_AGENT_ASSIGNED"], "subscription_url": URL}


def faults(response: Any) -> list[tuple[str, int]]:
    assert response.status_code == 400, response.content
    return [(error.get("field", ""), error["code"]) for error in response.json()["errors"]]


# Registration


def test_a_retried_registration_looks_the_name_up_before_its_transaction(api, resolve):
    asked = resolve("receiver.example", ["93.184.215.14"])
    resolve("inside.example", ["10.0.0.1"])

    def register(host):
        body = BODY | {"subscription_url": f"https://{host}/hook"}
        return api.post("/api/webhooks", body, HTTP_IDEMPOTENCY_KEY=host)

    assert [register("receiver.example").status_code for _ in range(2)] == [201, 201]
    assert asked == ["receiver.example"]
    for _ in range(2):
        assert faults(register("inside.example")) == [("subscription_url", ErrorCode.TARGET_FORBIDDEN.number)]
    assert Webhook.objects.count() == 1


def test_a_webhook_is_answered_as_the_interface_shows_it(api):
    response = api.post("/api/webhooks", BODY | {"http_auth_user": "anna", "http_auth_password": " geheim "})

    webhook = Webhook.objects.get()
    assert response.status_code == 201
    assert response.json() == {
        "id": webhook.pk,
        "actions": ["CHAT_CONVERSATION_CREATED", "CHAT_AGENT_ASSIGNED"],
        "subscription_url": URL,
        "http_auth_user": "anna",
        "http_auth_password": " geheim ",
    }
    assert api.get("/api/webhooks").json() == [response.json()]
    assert webhook.history.get().actor_name == "all"


def test_unset_credentials_are_empty_strings_and_an_action_named_twice_is_one(api):
    actions = ["AGENT_FREE", "TICKET_CREATED", "AGENT_FREE"]
    body = api.post("/api/webhooks", BODY | {"http_auth_user": None, "actions": actions}).json()

    assert (body["http_auth_user"], body["http_auth_password"], body["actions"]) == ("", "", actions[:2])


@pytest.mark.parametrize("default", ["json", "form"])
@pytest.mark.parametrize("sent", [{}, {"format": None}, {"format": ""}, {"format": "json"}, {"format": "form"}])
def test_the_format_is_that_of_the_setting_unless_one_is_asked_for(sent, default, api, settings):
    assert settings.WEBHOOK_DEFAULT_FORMAT == "json"
    settings.WEBHOOK_DEFAULT_FORMAT = default

    assert api.post("/api/webhooks", BODY | sent).status_code == 201

    assert Webhook.objects.get().format == (sent.get("format") or default)


def test_a_given_secret_is_used_and_can_be_read(api):
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    response = api.post("/api/webhooks", BODY | {"secret": secret})

    assert "secret" not in response.json()
    pk = response.json()["id"]
    assert api.get(f"/api/webhooks/{pk}/secret").json() == {"id": pk, "secret": secret}
    assert Webhook.objects.get().secret == secret


@pytest.mark.parametrize("sent", [{}, {"secret": None}, {"secret": ""}])
def test_a_secret_is_created_if_none_is_given(sent, api):
    api.post("/api/webhooks", BODY | sent)

    assert is_secret(Webhook.objects.get().secret)


@pytest.mark.parametrize(
    ("sent", "field", "code"),
    [
        ({"actions": ["NO_SUCH_ACTION"]}, "actions.0", ErrorCode.ACTION_UNKNOWN),
        ({"actions": ["TEST"]}, "actions.0", ErrorCode.ACTION_UNKNOWN),
        ({"actions": ["agent_free"]}, "actions.0", ErrorCode.ACTION_UNKNOWN),
        ({"actions": ["AGENT_FREE", "NO"]}, "actions.1", ErrorCode.ACTION_UNKNOWN),
        ({"actions": []}, "actions", ErrorCode.EMPTY),
        ({"actions": None}, "actions", ErrorCode.EMPTY),
        ({"actions": "AGENT_FREE"}, "actions", ErrorCode.NOT_LIST),
        ({"actions": [["AGENT_FREE"]]}, "actions.0", ErrorCode.NOT_TEXT),
        ({"actions": ["AGENT_FREE"] * 101}, "actions", ErrorCode.TOO_MANY),
        ({"subscription_url": ""}, "subscription_url", ErrorCode.EMPTY),
        ({"subscription_url": [URL]}, "subscription_url", ErrorCode.NOT_TEXT),
        ({"subscription_url": "nonsense"}, "subscription_url", ErrorCode.TARGET_MALFORMED),
        ({"subscription_url": "ftp://crm.client.example/"}, "subscription_url", ErrorCode.TARGET_SCHEME),
        ({"subscription_url": "https://a:b@crm.example/"}, "subscription_url", ErrorCode.TARGET_CREDENTIALS),
        ({"subscription_url": "http://127.0.0.1/"}, "subscription_url", ErrorCode.TARGET_FORBIDDEN),
        ({"subscription_url": "https://crm.client.example/" + "x" * 2000}, "subscription_url", ErrorCode.TOO_LONG),
        ({"http_auth_user": "an:na"}, "http_auth_user", ErrorCode.USER_HAS_COLON),
        ({"http_auth_user": "x" * 256}, "http_auth_user", ErrorCode.TOO_LONG),
        ({"http_auth_password": ["x"]}, "http_auth_password", ErrorCode.NOT_TEXT),
        ({"format": "xml"}, "format", ErrorCode.NOT_CHOICE),
        ({"secret": 5}, "secret", ErrorCode.SECRET_MALFORMED),
        ({"secret": "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "secret", ErrorCode.SECRET_MALFORMED),
        ({"secret": "whsec_not Base64, however long it may be"}, "secret", ErrorCode.SECRET_MALFORMED),
        ({"secret": "whsec_" + "A" * 28}, "secret", ErrorCode.SECRET_MALFORMED),
        ({"secret": "whsec_" + "A" * 88}, "secret", ErrorCode.SECRET_MALFORMED),
        ({"secret": "whsec_" + "A" * 100}, "secret", ErrorCode.TOO_LONG),
    ],
)
def test_a_fault_names_its_field_and_registers_nothing(sent, field, code, api, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = []

    response = api.post("/api/webhooks", BODY | sent)

    assert faults(response) == [(field, code.number)]
    assert Webhook.objects.count() == 0


def test_all_faults_come_at_once(api):
    response = api.post("/api/webhooks", {"actions": ["NO"], "http_auth_user": "a:b", "format": "xml"})

    assert {field for field, _ in faults(response)} == {"actions.0", "subscription_url", "http_auth_user", "format"}


def test_a_name_with_a_private_address_is_refused_and_an_unknown_name_accepted(api, settings, resolve):
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    resolve("intranet.client.example", ["192.168.1.7"])
    resolve("not-yet.client.example", [])

    refused = api.post("/api/webhooks", BODY | {"subscription_url": "https://intranet.client.example/"})
    accepted = api.post("/api/webhooks", BODY | {"subscription_url": "https://not-yet.client.example/"})

    assert faults(refused) == [("subscription_url", ErrorCode.TARGET_FORBIDDEN.number)]
    assert accepted.status_code == 201


def test_a_network_that_the_setting_allows_is_accepted(api, local_receivers):
    assert api.post("/api/webhooks", BODY | {"subscription_url": "http://127.0.0.1:9/"}).status_code == 201


# Events of one webhook


def test_a_removed_webhook_vanishes_at_once(api, enqueued):
    webhook, kept = WebhookFactory.create_batch(2)

    assert api.delete(f"/api/webhooks/{webhook.pk}").status_code == 204

    assert [one["id"] for one in api.get("/api/webhooks").json()] == [kept.pk]
    assert api.delete(f"/api/webhooks/{webhook.pk}").status_code == 404
    assert api.get(f"/api/webhooks/{webhook.pk}/secret").status_code == 404
    for path in ("enable", "disable", "test"):
        assert api.post(f"/api/webhooks/{webhook.pk}/{path}").status_code == 404
    assert enqueued == [("webhooks.purge", webhook.pk)]


def test_no_cache_keeps_an_answer_that_holds_a_secret(api):
    body = BODY | {"http_auth_user": "anna", "http_auth_password": "geheim"}
    made = api.post("/api/webhooks", body, HTTP_IDEMPOTENCY_KEY="once")
    again = api.post("/api/webhooks", body, HTTP_IDEMPOTENCY_KEY="once")
    paths = ["/api/webhooks", f"/api/webhooks/{made.json()['id']}", f"/api/webhooks/{made.json()['id']}/secret"]

    answers = [made, again, *(api.get(path) for path in paths)]

    assert all("geheim" in answer.content.decode() for answer in answers[:-1])
    assert [answer["Cache-Control"] for answer in answers] == ["no-store"] * 5


def test_reading_the_secret_is_logged_once_an_hour(api, api_client):
    webhook, other = WebhookFactory(), api_client("webhooks:write", login="other")
    path = f"/api/webhooks/{webhook.pk}/secret"

    for client in (api, api, other, api):
        client.get(path)
    webhook.history.update(at=timezone.now() - timedelta(minutes=61))
    api.get(path)

    seen = webhook.history.filter(action="show_secret").order_by("id").values_list("actor_name", flat=True)
    assert list(seen) == ["all", "other", "all"]


def test_one_webhook_is_read_with_all_fields(api):
    webhook = WebhookFactory(subscription_url=URL, format="form", http_auth_user="anna", http_auth_password="geheim")
    disable_webhook(webhook, ACTOR, Webhook.Reason.GONE)

    assert api.get(f"/api/webhooks/{webhook.pk}").json() == {
        "id": webhook.pk,
        "actions": webhook.actions,
        "subscription_url": URL,
        "http_auth_user": "anna",
        "http_auth_password": "geheim",
        "format": "form",
        "active": False,
        "disabled_because": "gone",
    }


def test_a_program_disables_and_enables(api, enqueued):
    webhook = WebhookFactory()
    DeliveryFactory(webhook=webhook)

    assert api.post(f"/api/webhooks/{webhook.pk}/disable").status_code == 204
    webhook.refresh_from_db()
    assert (webhook.is_active, webhook.disabled_because, webhook.notice_due_at) == (False, "person", None)
    # Still registered.
    assert len(api.get("/api/webhooks").json()) == 1

    assert api.post(f"/api/webhooks/{webhook.pk}/enable").status_code == 204
    webhook.refresh_from_db()
    assert webhook.is_active
    assert enqueued == [("webhooks.deliver", webhook.pk)]
    assert [change.actor_name for change in webhook.history.order_by("-id")[:2]] == ["all", "all"]


def test_a_program_sends_a_test_event(api, enqueued):
    webhook, _other = WebhookFactory.create_batch(2)

    assert api.post(f"/api/webhooks/{webhook.pk}/test").status_code == 204

    delivery = Delivery.objects.get()
    assert (delivery.webhook, delivery.event.action) == (webhook, "TEST")
    assert delivery.event.payload == {"webhook_id": webhook.pk, "requested_by": "all"}
    assert enqueued == [("webhooks.deliver", webhook.pk)]


def test_actions_are_listed_with_examples(api):
    actions = api.get("/api/webhooks/actions").json()

    assert [one["action"] for one in actions] == EventType.values
    for one in actions:
        example = one["example"]
        assert example["action"] == one["action"]
        assert {"action", "date", "event_id", "sequence"} < example.keys()
