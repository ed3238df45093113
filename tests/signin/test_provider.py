"""The log-in by a provider of OpenID Connect: who comes in, as whom, and when the log-in ends."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from callcentre.models import User
from callcentre.signin.models import ProviderGroup, ProviderIdentity, ProviderSession, UserSession
from callcentre.signin.models.provider import CHECKED_AFTER
from callcentre.signin.provider import provider
from callcentre.signin.verbs.provider_sessions import UNANSWERED_PAUSE, check_session, check_sessions
from tests.backoffice import BackOffice, after_a_while, page_of, superuser
from tests.callcentre.factories import ProviderGroupFactory, ProviderIdentityFactory, UserFactory
from tests.signin.provider import BACK, BEGIN, CLIENT_ID, END, StandIn, log_in, serving
from tests.telephony.factories import QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

INDEX, LOGIN, LOGOUT = reverse("admin:index"), reverse("admin:login"), reverse("admin:logout")


@pytest.fixture
def standing(settings: Any) -> Iterator[StandIn]:
    with serving() as standing:
        settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = standing.issuer, CLIENT_ID, "key"
        ProviderGroupFactory(name="team", roles=["Agent"])
        yield standing


def is_logged_in(client: BackOffice) -> bool:
    return bool(client.get(INDEX).status_code == 200)


def said(client: BackOffice) -> str:
    """Return the page of the log-in, with what was said on it."""
    return client.page(LOGIN)


def due() -> ProviderSession:
    """Let the time of the next check of the only log-in come."""
    session = ProviderSession.objects.get()
    session.check_at = timezone.now()
    session.save()
    return session


# Coming in


def test_a_person_of_a_known_group_comes_in_as_a_new_user_with_its_roles_and_scope(standing: StandIn) -> None:
    queue = QueueFactory()
    ProviderGroupFactory(name="more", roles=["Supervisor"], scope_call_queues=[queue.pk])
    ProviderGroup.objects.filter(name="team").update(scope_call_queues=[])
    standing.person["groups"] = ["team", "more", "unknown"]

    client, answer = log_in(standing, next="/admin/sessions/")

    assert answer["Location"] == "/admin/sessions/"
    assert is_logged_in(client)
    user = User.objects.get(username="ewa")
    assert (user.first_name, user.last_name, user.email) == ("Ewa", "Kot", "ewa@firm.example")
    assert {group.name for group in user.groups.all()} == {"Agent", "Supervisor"}
    assert (user.scope_call_queues, user.scope_outbounds) == ([queue.pk], None)
    assert (user.is_staff, user.is_superuser, user.has_usable_password()) == (True, False, False)
    assert standing.sent[0]["redirect_uri"].endswith(BACK)


def test_the_page_of_the_log_in_leads_to_the_provider_and_back_to_the_wanted_page(
    standing: StandIn, settings: Any
) -> None:
    page = BackOffice().page(LOGIN, next="/admin/sessions/")

    assert "Log in by single sign-on" in page
    assert f"{BEGIN}?next=%2Fadmin%2Fsessions%2F" in page
    assert "Or with a password:" in page
    settings.OIDC_ONLY = True
    assert "Or with the password of an administrator:" in BackOffice().page(LOGIN)


def test_the_same_person_is_known_by_the_subject_although_login_and_name_change(standing: StandIn) -> None:
    log_in(standing)
    standing.person |= {"preferred_username": "ewa.nowak", "family_name": "Nowak"}

    log_in(standing)

    user = User.objects.get(username="ewa")
    assert user.last_name == "Nowak"
    assert ProviderIdentity.objects.get().user == user


def test_a_user_with_the_login_is_linked_and_loses_password_and_former_roles(standing: StandIn) -> None:
    user = UserFactory(username="ewa", staff=True)
    user.groups.add(Group.objects.get(name="Auditor"))
    before = BackOffice()
    before.submit(LOGIN, username="ewa", password="user-pass")

    client, _answer = log_in(standing)

    user.refresh_from_db()
    assert is_logged_in(client)
    assert not is_logged_in(before)
    assert not user.has_usable_password()
    assert [group.name for group in user.groups.all()] == ["Agent"]


@pytest.mark.parametrize(
    ("person", "sentence"),
    [
        ({"groups": ["others"]}, "None of your groups"),
        ({"groups": None}, "None of your groups"),
        ({"preferred_username": "root"}, "belongs to another person"),
        ({"preferred_username": "ola"}, "belongs to another person"),
        ({"preferred_username": ""}, "no login that can be used"),
        ({"preferred_username": "a b"}, "no login that can be used"),
        ({"sub": "2000", "preferred_username": "old"}, "not active"),
        ({"sub": ""}, "does not answer as it should"),
        ({"given_name": "E\0wa", "groups": ["te\0am", "others\0"], "preferred_username": "root"}, "belongs to another"),
    ],
)
def test_a_person_who_may_not_come_in_is_told_why(person: dict[str, Any], sentence: str, standing: StandIn) -> None:
    UserFactory(username="root", admin=True)
    for login, subject, is_active in (("ola", "999", True), ("old", "2000", False)):
        known = UserFactory(username=login, staff=True, is_active=is_active)
        ProviderIdentityFactory(user=known, issuer=standing.issuer, subject=subject)
    standing.person |= person

    client, answer = log_in(standing)

    assert answer["Location"] == LOGIN
    assert sentence in said(client)
    assert not is_logged_in(client)
    assert not User.objects.filter(username="ewa").exists()


@pytest.mark.parametrize(
    "claims", [{"nonce": "other"}, {"aud": "other"}, {"iss": "https://other.example"}, {"exp": 1}, {"sub": "2"}]
)
def test_a_token_that_is_not_for_this_log_in_is_refused(claims: dict[str, Any], standing: StandIn) -> None:
    standing.token_claims = claims

    client, _answer = log_in(standing)

    assert "does not answer as it should" in said(client)
    assert not is_logged_in(client)


def test_a_return_without_a_beginning_in_this_browser_is_refused(standing: StandIn) -> None:
    led = BackOffice().get(BEGIN)
    stranger = BackOffice()

    stranger.get(BACK, standing.authorise(led["Location"]))

    assert "was given up, or took too long" in said(stranger)
    assert not is_logged_in(stranger)


def test_who_gives_up_at_the_provider_and_who_finds_it_down_is_told(standing: StandIn, settings: Any) -> None:
    client = BackOffice()
    led = client.get(BEGIN)
    state = standing.authorise(led["Location"])["state"]
    client.get(BACK, {"error": "access_denied", "state": state})
    assert "was given up" in said(client)

    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    provider.cache_clear()
    client.get(BEGIN)
    assert "does not answer as it should" in said(client)


def test_a_new_key_of_the_provider_is_read(standing: StandIn) -> None:
    log_in(standing)
    standing.key = standing.new_key("second")

    client, _answer = log_in(standing)

    assert is_logged_in(client)


def test_without_a_provider_there_is_no_such_log_in() -> None:
    assert BackOffice().get(BEGIN).status_code == 404
    assert BackOffice().post(END, {"logout_token": "x"}).status_code == 404
    assert "provider" not in said(BackOffice())


# Checks


def test_groups_are_read_again_and_rights_follow(standing: StandIn) -> None:
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
def test_a_person_without_groups_or_log_in_at_the_provider_is_logged_out(change: Any, standing: StandIn) -> None:
    client, _answer = log_in(standing)
    change(standing)

    check_session(due().pk)

    assert not is_logged_in(client)
    assert not ProviderSession.objects.exists()


@pytest.mark.parametrize("refusal", [(503, {}), (400, {"error": "invalid_client"}), (200, {"unreadable": 1})])
def test_while_the_provider_does_not_answer_the_log_in_goes_on(refusal: Any, standing: StandIn) -> None:
    client, _answer = log_in(standing)
    standing.refusal = refusal

    check_session(due().pk)

    assert is_logged_in(client)
    pause = ProviderSession.objects.get().check_at - timezone.now()
    assert timedelta() < pause <= UNANSWERED_PAUSE


def test_without_a_refresh_token_the_log_in_lasts_as_long_as_the_access_token(standing: StandIn) -> None:
    standing.has_refresh_tokens = False
    client, _answer = log_in(standing)
    check_session(due().pk)
    assert is_logged_in(client)

    standing.user_status = 401
    check_session(due().pk)

    assert not is_logged_in(client)


def test_only_log_ins_whose_time_has_come_are_checked_until_the_provider_does_not_answer(standing: StandIn) -> None:
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


def test_a_new_refresh_token_is_kept_although_the_claims_do_not_come(standing: StandIn) -> None:
    client, _answer = log_in(standing)
    standing.user_status = 503

    check_session(due().pk)

    assert is_logged_in(client)
    assert ProviderSession.objects.get().refresh_token == "refresh-2"


def test_a_check_of_an_ended_session_removes_the_log_in(standing: StandIn) -> None:
    log_in(standing)
    UserSession.objects.all().delete()

    check_session(due().pk)

    assert not ProviderSession.objects.exists()


# Ends


def test_a_log_out_here_ends_the_log_in_there(standing: StandIn) -> None:
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
def test_the_provider_ends_log_ins_by_a_message(claims: dict[str, Any], standing: StandIn) -> None:
    client, _answer = log_in(standing)
    local = superuser()

    answer = BackOffice(enforce_csrf_checks=True).post(END, {"logout_token": standing.logout_token(**claims)})

    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    assert not is_logged_in(client)
    assert is_logged_in(local)


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
def test_a_message_that_is_no_logout_token_ends_nothing(claims: dict[str, Any], standing: StandIn) -> None:
    client, _answer = log_in(standing)

    for token in (standing.logout_token(**claims), "x.y.z", ""):
        assert BackOffice().post(END, {"logout_token": token}).status_code == 400

    assert is_logged_in(client)


# Passwords, the second factor


def test_with_only_this_way_passwords_are_for_superusers(standing: StandIn, settings: Any) -> None:
    UserFactory(username="jan", staff=True)
    UserFactory(username="root", admin=True)
    before = BackOffice()
    before.submit(LOGIN, username="jan", password="user-pass")
    by_provider, _answer = log_in(standing)
    settings.OIDC_ONLY = True

    assert not is_logged_in(before)
    refused = BackOffice().submit(LOGIN, username="jan", password="user-pass", expected=200)
    assert b"You log in by single sign-on" in refused.content
    administrator = BackOffice()
    administrator.submit(LOGIN, username="root", password="user-pass")
    assert is_logged_in(administrator)
    assert is_logged_in(by_provider)


def test_the_second_factor_of_such_a_person_is_the_provider_s_matter(standing: StandIn, settings: Any) -> None:
    settings.TWO_FACTOR = "supervisors"
    ProviderGroup.objects.get().groups.set(Group.objects.filter(name="Administrator"))

    client, _answer = log_in(standing)

    assert is_logged_in(client)


def test_secrets_need_another_log_in_at_the_provider(standing: StandIn) -> None:
    ProviderGroup.objects.get().groups.set(Group.objects.filter(name="Administrator"))
    client, _answer = log_in(standing)
    after_a_while(client)
    add = reverse("admin:callcentre_apiuser_add")

    refused = client.submit(add, login="robot", expected=200)
    assert b"Log in again first" in refused.content
    led = client.get(BEGIN, {"again": ""})
    query = parse_qs(urlsplit(led["Location"]).query)
    assert (query["prompt"], query["max_age"]) == (["login"], ["0"])
    standing.token_claims = {"auth_time": 1}
    client.get(BACK, standing.authorise(led["Location"]))
    assert b"Log in again first" in client.submit(add, login="robot", expected=200).content

    standing.token_claims = {}
    key = client.session.session_key
    log_in(standing, client, again="")
    assert client.session.session_key != key
    client.submit(add, login="robot", expected={200, 302})
    assert b"Log in again first" not in client.get(add).content


# Pages


def test_an_administrator_maps_groups_and_sees_who_comes_by_the_provider(standing: StandIn) -> None:
    log_in(standing)
    client = superuser()
    user = User.objects.get(username="ewa")

    client.submit(
        reverse("admin:signin_providergroup_add"), name="chiefs", groups=[Group.objects.get(name="Supervisor").pk]
    )

    assert [role.name for role in ProviderGroup.objects.get(name="chiefs").groups.all()] == ["Supervisor"]
    assert "roles and scope follow the groups there" in client.page(page_of(user))
    refused = client.get(reverse("admin:auth_user_password_change", args=[user.pk]))
    assert refused.status_code == 302
