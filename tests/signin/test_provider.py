"""The log-in by a provider of OpenID Connect: who comes in, and as whom."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from callcentre.models import User
from callcentre.signin.models import ProviderGroup, ProviderIdentity
from callcentre.signin.provider import provider
from tests.backoffice import BackOffice, after_a_while, page_of, superuser
from tests.callcentre.factories import ProviderGroupFactory, ProviderIdentityFactory, UserFactory
from tests.signin.provider import BACK, BEGIN, END, is_logged_in, log_in
from tests.telephony.factories import QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

LOGIN = reverse("admin:login")


def said(client: BackOffice) -> str:
    """Return the page of the log-in, with what was said on it."""
    return client.page(LOGIN)


# Coming in


def test_a_person_of_a_known_group_comes_in_as_a_new_user_with_its_roles_and_scope(standing):
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


def test_the_page_of_the_log_in_leads_to_the_provider_and_back_to_the_wanted_page(standing, settings):
    page = BackOffice().page(LOGIN, next="/admin/sessions/")

    assert "Log in by single sign-on" in page
    assert f"{BEGIN}?next=%2Fadmin%2Fsessions%2F" in page
    assert "Or with a password:" in page
    settings.OIDC_ONLY = True
    assert "Or with the password of an administrator:" in BackOffice().page(LOGIN)


def test_the_same_person_is_known_by_the_subject_although_login_and_name_change(standing):
    log_in(standing)
    standing.person |= {"preferred_username": "ewa.nowak", "family_name": "Nowak"}

    log_in(standing)

    user = User.objects.get(username="ewa")
    assert user.last_name == "Nowak"
    assert ProviderIdentity.objects.get().user == user


def test_after_a_change_of_the_issuer_people_are_known_by_their_login(standing):
    former, _answer = log_in(standing)
    ProviderIdentity.objects.update(issuer="https://former.example", subject="7")

    client, _answer = log_in(standing)

    assert (is_logged_in(former), is_logged_in(client)) == (False, True)
    identity = ProviderIdentity.objects.get()
    assert (identity.user.username, identity.issuer, identity.subject) == ("ewa", standing.issuer, "1000")


def test_a_person_who_became_a_superuser_logs_in_with_a_password(standing, settings):
    before, _answer = log_in(standing)
    User.objects.filter(username="ewa").update(is_superuser=True)
    settings.TWO_FACTOR = "supervisors"
    client, _answer = log_in(standing)
    assert "log in with your password" in said(client)
    assert not is_logged_in(client)
    assert not is_logged_in(before)

    settings.TWO_FACTOR = "off"
    page = reverse("admin:auth_user_password_change", args=[User.objects.get(username="ewa").pk])
    password = {"password1": "a-Long-one-7", "password2": "a-Long-one-7", "own_password": "user-pass"}
    superuser().submit(page, **password)
    local = BackOffice()
    local.submit(LOGIN, username="ewa", password="a-Long-one-7")
    assert is_logged_in(local)


def test_a_user_with_the_login_is_linked_and_loses_password_and_former_roles(standing):
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
def test_a_person_who_may_not_come_in_is_told_why(person, sentence, standing):
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
def test_a_token_that_is_not_for_this_log_in_is_refused(claims, standing):
    standing.token_claims = claims

    client, _answer = log_in(standing)

    assert "does not answer as it should" in said(client)
    assert not is_logged_in(client)


def test_a_return_without_a_beginning_in_this_browser_is_refused(standing):
    led = BackOffice().get(BEGIN)
    stranger = BackOffice()

    stranger.get(BACK, standing.authorise(led["Location"]))

    assert "was given up, or took too long" in said(stranger)
    assert not is_logged_in(stranger)


def test_who_gives_up_at_the_provider_and_who_finds_it_down_is_told(standing, settings):
    client = BackOffice()
    led = client.get(BEGIN)
    state = standing.authorise(led["Location"])["state"]
    client.get(BACK, {"error": "access_denied", "state": state})
    assert "was given up" in said(client)

    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    provider.cache_clear()
    client.get(BEGIN)
    assert "does not answer as it should" in said(client)


def test_a_new_key_of_the_provider_is_read(standing):
    log_in(standing)
    standing.key = standing.new_key("second")

    client, _answer = log_in(standing)

    assert is_logged_in(client)


def test_without_a_provider_there_is_no_such_log_in():
    assert BackOffice().get(BEGIN).status_code == 404
    assert BackOffice().post(END, {"logout_token": "x"}).status_code == 404
    assert "provider" not in said(BackOffice())


# Passwords, the second factor


def test_with_only_this_way_passwords_are_for_superusers(standing, settings):
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


def test_the_second_factor_of_such_a_person_is_the_provider_s_matter(standing, settings):
    settings.TWO_FACTOR = "supervisors"
    ProviderGroup.objects.get().groups.set(Group.objects.filter(name="Administrator"))

    client, _answer = log_in(standing)

    assert is_logged_in(client)


def test_secrets_need_another_log_in_at_the_provider(standing):
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


def test_an_administrator_maps_groups_and_sees_who_comes_by_the_provider(standing):
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
