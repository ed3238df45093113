"""The log-in by a provider of OpenID Connect: its checks, and how it ends."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone

from callcentre.models import User
from callcentre.signin import provider
from callcentre.signin.models import ProviderSession, UserSession
from callcentre.signin.models.provider import CHECKED_AFTER
from callcentre.signin.verbs.provider_sessions import UNANSWERED_PAUSE, check_session, check_sessions
from tests.backoffice import BackOffice, superuser
from tests.callcentre.factories import ProviderGroupFactory
from tests.signin.provider import CLIENT_ID, END, is_logged_in, log_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

LOGIN, LOGOUT = reverse("admin:login"), reverse("admin:logout")


def due() -> ProviderSession:
    """Let the time of the next check of the only log-in come."""
    session = ProviderSession.objects.get()
    session.check_at = timezone.now()
    session.save()
    return session


# Checks


def test_groups_are_read_again_and_rights_follow(standing):
    ProviderGroupFactory(name="chiefs", roles=["Supervisor"])
    client, _answer = log_in(standing)
    standing.person["groups"] = ["chiefs"]

    check_session(due().pk)

    assert is_logged_in(client)
    assert [group.name for group in User.objects.get(username="ewa").groups.all()] == ["Supervisor"]
    session = ProviderSession.objects.get()
    assert session.check_at > timezone.now() + CHECKED_AFTER - timedelta(minutes=1)
    assert session.refresh_token == "refresh-2"


@pytest.mark.parametrize(
    "change",
    [
        lambda standing: standing.person.update(groups=[]),
        lambda standing: setattr(standing, "refusal", (400, {"error": "invalid_grant"})),
        lambda _standing: User.objects.filter(username="ewa").update(is_active=False),
    ],
)
def test_a_person_without_groups_or_log_in_at_the_provider_is_logged_out(change, standing):
    client, _answer = log_in(standing)
    change(standing)

    check_session(due().pk)

    assert not is_logged_in(client)
    assert not ProviderSession.objects.exists()


@pytest.mark.parametrize("refusal", [(503, {}), (400, {"error": "invalid_client"}), (200, {"unreadable": 1})])
def test_while_the_provider_does_not_answer_the_log_in_goes_on(refusal, standing):
    client, _answer = log_in(standing)
    standing.refusal = refusal

    check_session(due().pk)

    assert is_logged_in(client)
    pause = ProviderSession.objects.get().check_at - timezone.now()
    assert timedelta() < pause <= UNANSWERED_PAUSE


def test_without_a_refresh_token_the_log_in_lasts_as_long_as_the_access_token(standing):
    standing.has_refresh_tokens = False
    client, _answer = log_in(standing)
    check_session(due().pk)
    assert is_logged_in(client)

    standing.user_status = 401
    check_session(due().pk)

    assert not is_logged_in(client)


def test_only_log_ins_whose_time_has_come_are_checked_until_the_provider_does_not_answer(standing):
    log_in(standing)
    log_in(standing)
    check_sessions()
    assert len(standing.sent) == 2

    ProviderSession.objects.update(check_at=timezone.now())
    check_sessions()
    assert len(standing.sent) == 4
    check_sessions()
    assert len(standing.sent) == 4

    ProviderSession.objects.update(check_at=timezone.now())
    standing.refusal = (503, {})
    check_sessions()
    assert len(standing.sent) == 5


def test_a_new_refresh_token_is_kept_although_the_claims_do_not_come(standing):
    client, _answer = log_in(standing)
    standing.user_status = 503

    check_session(due().pk)

    assert is_logged_in(client)
    assert ProviderSession.objects.get().refresh_token == "refresh-2"


def test_a_check_of_an_ended_session_removes_the_log_in(standing):
    log_in(standing)
    UserSession.objects.all().delete()

    check_session(due().pk)

    assert not ProviderSession.objects.exists()


# Ends


def test_a_log_out_here_ends_the_log_in_there(standing):
    client, _answer = log_in(standing)

    answer = client.post(LOGOUT)

    address = urlsplit(answer["Location"])
    query = parse_qs(address.query)
    assert address.path == "/end"
    assert query["client_id"] == [CLIENT_ID]
    assert query["post_logout_redirect_uri"][0].endswith(LOGIN)
    assert len(query["id_token_hint"]) == 1
    assert not ProviderSession.objects.exists()
    assert not is_logged_in(client)


@pytest.mark.parametrize("claims", [{}, {"sid": None, "sub": "1000"}])
def test_the_provider_ends_log_ins_by_a_message(claims, standing):
    client, _answer = log_in(standing)
    local = superuser()

    answer = BackOffice(enforce_csrf_checks=True).post(END, {"logout_token": standing.logout_token(**claims)})

    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    assert not is_logged_in(client)
    assert is_logged_in(local)


def test_tokens_with_unknown_keys_are_no_reason_to_read_the_keys_each_time(standing, monkeypatch):
    client, _answer = log_in(standing)
    standing.key, first = standing.new_key("other"), standing.key
    forged, standing.key = standing.logout_token(), first
    standing.asked.clear()

    for _ in range(5):
        assert BackOffice().post(END, {"logout_token": forged}).status_code == 400
    assert standing.asked == ["/keys"]
    standing.key = standing.new_key("second")
    monkeypatch.setattr(provider.provider(), "_keys_again_at", 0)
    assert BackOffice().post(END, {"logout_token": standing.logout_token()}).status_code == 200
    assert not is_logged_in(client)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example"},
        {"aud": "other"},
        {"iat": 1},
        {"events": {}},
        {"nonce": "1"},
        {"sid": None},
    ],
)
def test_a_message_that_is_no_logout_token_ends_nothing(claims, standing):
    client, _answer = log_in(standing)

    for token in (standing.logout_token(**claims), "x.y.z", ""):
        assert BackOffice().post(END, {"logout_token": token}).status_code == 400

    assert is_logged_in(client)
