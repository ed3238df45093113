"""Mailboxes of Google and Microsoft 365: tokens in place of passwords, on real sockets."""

from base64 import urlsafe_b64decode
from datetime import timedelta
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.backoffice import errors_of, page_of, superuser
from tests.tickets.factories import TicketQueueFactory
from tests.tickets.imap_server import Mailbox, a_mailbox, local_mailboxes  # noqa: F401  (fixtures)
from tests.tickets.mails import a_mail
from tests.tickets.provider import KEY_PEM, Provider, a_provider, granted, queue_with_tokens  # noqa: F401  (a fixture)
from tickets.mail.mailbox_poll import poll
from tickets.mail.oauth import renew
from tickets.models import MailboxGrant, MailboxTest, Ticket, TicketQueue

pytestmark = [pytest.mark.usefixtures("committed_db", "own_storage", "plain_static")]
MAILBOX = "help@us.example"


@pytest.fixture(name="box")
def a_mailbox_with_tokens(box):
    """The server takes the provider's token, and no password."""
    box.user, box.password, box.token = MAILBOX, "\0none", "token-1"
    box.add(a_mail())
    return box


def error_of(queue: TicketQueue) -> str:
    queue.refresh_from_db()
    return queue.poll_error.partition(":")[0]


# The consent of a person


def test_a_person_connects_a_mailbox_and_its_mail_is_read(box, provider):
    provider.more = {"refresh_token": "refresh-1"}
    queue, client = queue_with_tokens(box), superuser()
    connect = reverse("admin:tickets_ticketqueue_connect", args=[queue.pk])

    page, leave = client.get(connect), client.post(connect)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(leave["Location"]).query).items()}
    back = client.get(urlsplit(asked["redirect_uri"]).path, {"state": asked["state"], "code": "code-1"})

    assert leave["Location"].startswith("https://accounts.google.com/o/oauth2/v2/auth?")
    # Browsers apply the policy of the page to the redirect of its form.
    assert "form-action 'self' https://accounts.google.com" in page["Content-Security-Policy"]
    assert {name: asked[name] for name in ("client_id", "response_type", "scope", "access_type", "login_hint")} == {
        "client_id": "our-id",
        "response_type": "code",
        "scope": "https://mail.google.com/",
        "access_type": "offline",
        "login_hint": MAILBOX,
    }
    (exchange,) = provider.asked
    assert (exchange["grant_type"], exchange["code"], exchange["client_secret"]) == (
        "authorization_code",
        "code-1",
        "our-secret",
    )
    # PKCE: the challenge is the checksum of what is shown now.
    challenge = urlsafe_b64decode(f"{asked['code_challenge']}=")
    assert challenge == sha256(exchange["code_verifier"].encode()).digest()
    assert back["Location"] == reverse("admin:tickets_ticketqueue_test_connection", args=[queue.pk])
    assert MailboxTest.objects.filter(pk=queue.pk).exists()
    assert poll(queue.pk) == Ticket.objects.count() == 1


@pytest.mark.parametrize("wrong", ["state", "person", "late", "twice"])
def test_an_answer_of_the_provider_that_this_person_did_not_ask_for_changes_nothing(box, provider, wrong):
    queue, client = queue_with_tokens(box), superuser()
    leave = client.post(reverse("admin:tickets_ticketqueue_connect", args=[queue.pk]))
    asked = {"state": parse_qs(urlsplit(leave["Location"]).query)["state"][0], "code": "code-1"}
    connected = reverse("admin:tickets_ticketqueue_connected")
    if wrong == "late":
        MailboxGrant.objects.update(begun_at=timezone.now() - timedelta(minutes=16))
    if wrong == "twice":
        client.get(connected, asked | {"code": "", "error": "access_denied"})

    (superuser() if wrong == "person" else client).get(
        connected, asked | ({"state": "other"} if wrong == "state" else {})
    )

    assert provider.asked == []
    assert MailboxGrant.objects.get().granted_at is None


def test_microsoft_is_asked_for_imap_smtp_and_a_refresh_token_in_our_tenant(box, provider):
    queue = queue_with_tokens(box, "microsoft")

    leave = superuser().post(reverse("admin:tickets_ticketqueue_connect", args=[queue.pk]))

    url = urlsplit(leave["Location"])
    assert f"{url.netloc}{url.path}" == "login.microsoftonline.com/tenant-1/oauth2/v2.0/authorize"
    assert parse_qs(url.query)["scope"] == [
        "https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send offline_access"
    ]


# Applications and service accounts


def test_an_application_of_microsoft_needs_no_person(box, provider):
    queue = queue_with_tokens(box, "microsoft_app")

    assert poll(queue.pk) == 1

    (asked,) = provider.asked
    assert (asked["grant_type"], asked["scope"], asked["client_id"], asked["client_secret"]) == (
        "client_credentials",
        "https://outlook.office365.com/.default",
        "our-id",
        "our-secret",
    )


def test_a_service_account_of_google_signs_for_the_mailbox(box, provider):
    queue = queue_with_tokens(box, "google_service")

    assert poll(queue.pk) == 1

    (asked,) = provider.asked
    assert asked.keys() == {"grant_type", "assertion"}
    claims = jwt.decode(asked["assertion"], RSAKey.import_key(KEY_PEM), algorithms=["RS256"]).claims
    assert {name: claims[name] for name in ("iss", "sub", "scope")} == {
        "iss": "robot@us.example",
        "sub": MAILBOX,
        "scope": "https://mail.google.com/",
    }


# Renewal


def test_a_token_is_renewed_ahead_of_its_expiry_and_not_before(box, provider):
    queue = queue_with_tokens(box, "microsoft")
    granted(queue)
    provider.more = {"refresh_token": "refresh-2"}

    renew(queue.pk)
    renew(queue.pk)
    MailboxGrant.objects.update(expires_at=timezone.now() + timedelta(minutes=9))
    renew(queue.pk)

    # Microsoft gives another refresh token each time.
    assert [asked["refresh_token"] for asked in provider.asked] == ["refresh-1", "refresh-2"]
    assert MailboxGrant.objects.get().access_token == "token-1"


def test_a_token_that_is_still_good_is_used_while_the_provider_is_away(box, provider):
    queue = queue_with_tokens(box)
    granted(queue, access_token="token-1", expires_at=timezone.now() + timedelta(minutes=5))
    provider.status = 503

    assert poll(queue.pk) == 1
    assert MailboxGrant.objects.get().error == "the provider cannot be asked for a token; it is asked again: HTTPError"


def test_tokens_are_stored_encrypted(box, provider):
    queue = queue_with_tokens(box)
    granted(queue)
    renew(queue.pk)

    stored = MailboxGrant.objects.extra(select={"raw": "access_token || refresh_token"}).get().raw
    assert "token-1" not in stored
    assert "refresh-1" not in stored


# What is wrong


@pytest.mark.parametrize(
    ("login", "error", "sentence"),
    [
        ("google", "invalid_grant", "the provider has ended the access"),
        ("microsoft", "interaction_required", "the provider has ended the access"),
        ("microsoft", "invalid_client", "the provider does not accept our application"),
        ("microsoft_app", "unauthorized_client", "the provider does not accept our application"),
        ("google_service", "unauthorized_client", "Google does not let the service account read this mailbox"),
        ("google", "server_error", "the provider refuses a token"),
    ],
)
def test_a_refusal_of_the_provider_is_shown_as_what_to_do(box, provider, login, error, sentence):
    provider.error, provider.description = error, "AADSTS1: in its words.\r\nTrace ID: 1"
    queue = queue_with_tokens(box, login)
    granted(queue)

    assert poll(queue.pk) == 0

    queue.refresh_from_db()
    assert queue.poll_error.startswith(sentence)
    assert queue.poll_error.endswith(f"{error} AADSTS1: in its words.")
    assert box.connections == 0


def test_a_consent_that_is_withdrawn_while_the_mailbox_is_read_is_shown_at_its_queue(box, provider):
    queue = queue_with_tokens(box, polled_at=timezone.now())
    granted(queue)
    provider.error = "invalid_grant"

    renew(queue.pk)

    assert "Read at" in (page := superuser().get(page_of(queue)).text)
    assert "the provider has ended the access" in page


def test_a_mailbox_that_no_person_has_connected_says_so(box, provider, settings):
    queue = queue_with_tokens(box)
    poll(queue.pk)
    assert error_of(queue).startswith("no person has connected the mailbox yet")

    settings.GOOGLE_CLIENT_SECRET = ""
    queue.save()
    poll(queue.pk)
    queue.refresh_from_db()
    assert queue.poll_error == "settings of the provider are missing: GOOGLE_CLIENT_SECRET"


def test_a_token_of_another_account_is_refused_by_the_server_in_words(box, provider):
    queue = queue_with_tokens(box)
    granted(queue)
    provider.token = "of-another"

    assert poll(queue.pk) == 0
    assert error_of(queue).startswith("the server refuses the token")


def test_no_other_server_gets_a_token(box, provider):
    queue = queue_with_tokens(box, imap_host="localhost")
    granted(queue)

    poll(queue.pk)

    assert error_of(queue) == "a token is sent to the servers of its provider only"
    assert (provider.asked, box.connections) == ([], 0)


# The page of the queue


def test_the_servers_of_a_mailbox_with_tokens_are_those_of_its_provider():
    queue = TicketQueueFactory(with_mailbox=True, address=MAILBOX)
    other = TicketQueueFactory(with_mailbox=True)
    choice = {"imap_login": "microsoft", "imap_host": "evil.example", "smtp_uses_mailbox": "on", "language": "en"}

    superuser().submit(page_of(queue), imap_user=MAILBOX, **choice)
    refused = superuser().submit(page_of(other), expected=200, **choice)

    found = TicketQueue.objects.get(pk=queue.pk)
    assert (found.imap_host, found.imap_port, found.imap_uses_tls) == ("outlook.office365.com", 993, True)
    assert (found.smtp_host, found.smtp_port, found.smtp_uses_tls) == ("smtp.office365.com", 587, False)
    assert found.imap_password == ""
    assert errors_of(refused) == {"imap_user": ["Enter the address of the mailbox."]}


def test_another_account_of_a_queue_needs_another_consent(box):
    queue = queue_with_tokens(box, address=MAILBOX)
    granted(queue)

    superuser().submit(page_of(queue), imap_user="other@us.example", language="en")

    assert not MailboxGrant.objects.exists()
