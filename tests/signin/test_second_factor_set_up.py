"""Setting up the second factor."""

import base64
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client

from callcentre.signin.models import SecondFactor
from callcentre.signin.verbs import confirm_second_factor
from tests.admin_pages import addresses, row_of_each_model
from tests.backoffice import BackOffice, after_a_while, errors_of, superuser
from tests.callcentre.factories import UserFactory, code_of
from tests.signin.second_factor import (
    CODE,
    INDEX,
    LOGIN,
    OVERVIEW,
    SET_UP,
    SET_UP_AT_LOG_IN,
    WRONG,
    a_factor,
    after_the_password,
    recovery_codes,
)
from tests.statements import few_statements

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]


def test_a_person_sets_up_the_second_factor_and_logs_in_with_it(clock):
    UserFactory(username="ewa", staff=True)
    client, _answer = after_the_password()
    client.page(SET_UP)
    factor = SecondFactor.objects.get()

    codes = recovery_codes(client.post(SET_UP, {"code": code_of(factor)}).content)

    assert factor.confirmed is False
    assert len(set(codes)) == 10
    clock.shift(timedelta(seconds=30))
    second, answer = after_the_password()
    assert answer.url == CODE
    assert second.submit(CODE, code=code_of(SecondFactor.objects.get())).url == INDEX


def test_the_qr_code_holds_the_key_for_the_app_which_the_database_has_encrypted():
    values = superuser().values(SET_UP)

    factor = SecondFactor.objects.get()
    address = urlsplit(values["address"])
    assert (address.scheme, address.netloc) == ("otpauth", "totp")
    assert parse_qs(address.query)["secret"] == [factor.key] == [values["key"].replace(" ", "")]
    assert len(base64.b32decode(factor.key)) == 20
    assert values["image"].startswith("data:image/svg+xml")
    with connection.cursor() as cursor:
        cursor.execute("SELECT key FROM signin_secondfactor")
        assert factor.key not in cursor.fetchone()[0]


def test_the_key_stays_for_ten_minutes_in_a_session(clock):
    client = superuser()
    first = client.values(SET_UP)["key"]

    clock.shift(timedelta(minutes=9))
    second = client.values(SET_UP)["key"]
    client.post(SET_UP, {"code": WRONG})
    third = client.values(SET_UP)["key"]
    clock.shift(timedelta(minutes=2))

    assert first == second == third
    assert client.values(SET_UP)["key"] != first


def test_another_session_gets_another_key():
    """A stranger with the password must not know the key that the person then confirms."""
    UserFactory(username="ewa", admin=True)
    stranger, _answer = after_the_password()
    client, _answer = after_the_password()
    first = stranger.values(SET_UP)["key"]

    second = client.values(SET_UP)["key"]
    shown = stranger.post(SET_UP, {"code": WRONG}).context["key"]

    assert len({first, second, shown}) == 3


def test_setting_up_asks_for_a_right_code_and_the_own_password():
    client = superuser()
    client.page(SET_UP)

    wrong = client.post(SET_UP, {"code": WRONG})
    late = after_a_while(client).post(SET_UP, {"code": code_of(SecondFactor.objects.get())})

    assert "code" in errors_of(wrong)
    assert "own_password" in errors_of(late)
    assert SecondFactor.objects.get().confirmed is False


def test_an_unconfirmed_second_factor_is_not_asked_for_and_a_confirmed_one_ends_the_other_sessions():
    UserFactory(username="ewa", admin=True)
    client, _answer = after_the_password()
    client.page(SET_UP)
    other, answer = after_the_password()
    assert answer.url == INDEX

    client.post(SET_UP, {"code": code_of(SecondFactor.objects.get())})

    assert [each.get(INDEX).status_code for each in (client, other)] == [200, 302]


def test_a_second_factor_that_is_on_is_not_replaced():
    factor = a_factor()
    client = BackOffice()
    client.force_login(factor.user)

    assert client.get(SET_UP).headers["Location"] == OVERVIEW
    assert confirm_second_factor(factor.user, factor.user.actor, code_of(factor)) == []


@pytest.fixture
def enforced(settings):
    settings.TWO_FACTOR = "supervisors"


@pytest.mark.slow("opens many pages")
def test_an_enforced_person_reaches_only_the_set_up(enforced):
    paths = [*addresses(row_of_each_model()), "/admin/search/", "/admin/overview/now", "/admin/desk/", OVERVIEW, SET_UP]
    UserFactory(username="ewa", admin=True)

    client, answer = after_the_password()

    assert answer.url == SET_UP_AT_LOG_IN
    opened = [path for path in paths if not client.get(path).headers.get("Location", "").startswith(LOGIN)]
    assert [path for path in opened if not path.startswith("/admin/jsi18n")] == []
    assert client.get("/api/docs").status_code == 401


def test_an_enforced_person_sets_up_the_second_factor_at_the_log_in(enforced):
    UserFactory(username="ewa", admin=True)
    client, _answer = after_the_password(next="/admin/search/")
    client.page(SET_UP_AT_LOG_IN)

    answer = client.post(SET_UP_AT_LOG_IN, {"code": code_of(SecondFactor.objects.get())})

    assert len(recovery_codes(answer.content)) == 10
    assert b'href="/admin/search/"' in answer.content
    assert client.get(INDEX).status_code == 200


def test_an_enforced_person_logs_in_with_a_second_factor_and_older_sessions_do_not_count(settings):
    factor, old = a_factor(is_superuser=True), superuser()
    assert old.get(INDEX).status_code == 200

    settings.TWO_FACTOR = "supervisors"
    client, _answer = after_the_password()
    client.submit(CODE, code=code_of(factor))

    assert [each.get(INDEX).status_code for each in (old, client)] == [302, 200]


@pytest.mark.parametrize(
    ("permission", "expected"),
    [
        ("telephony.view_agent", SET_UP_AT_LOG_IN),
        ("campaigns.change_campaign", SET_UP_AT_LOG_IN),
        ("callcentre.change_user", SET_UP_AT_LOG_IN),
        ("callcentre.delete_personal_data", SET_UP_AT_LOG_IN),
        ("webhooks.change_webhook", SET_UP_AT_LOG_IN),
        ("callcentre.view_auditlog", SET_UP_AT_LOG_IN),
        ("tickets.change_ticket", INDEX),
        ("knowledgebase.change_article", INDEX),
    ],
)
@pytest.mark.parametrize("by_group", [False, True])
def test_rights_decide_about_enforcement(permission, expected, by_group, enforced, django_user_model):
    from django.contrib.auth.models import Group

    app, codename = permission.split(".")
    user = UserFactory(username="ewa", staff=True)
    found = Permission.objects.get(content_type__app_label=app, codename=codename)
    if by_group:
        group = Group.objects.create(name="role")
        group.permissions.add(found)
        user.groups.add(group)
    else:
        user.user_permissions.add(found)

    assert after_the_password()[1].url == expected


@pytest.mark.parametrize("mode", ["off", "supervisors"])
def test_neither_the_setting_nor_a_second_factor_costs_a_statement(mode, settings):
    plain, protected = UserFactory(staff=True), a_factor().user
    settings.TWO_FACTOR = mode
    for user in (plain, protected):
        client = Client()
        client.force_login(user)
        with few_statements(2):  # the session, the user
            assert client.get("/api/docs").status_code == 200
