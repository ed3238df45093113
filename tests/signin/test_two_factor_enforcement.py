"""The second factor as a duty: TWO_FACTOR."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from callcentre.signin.models import SecondFactor
from tests.admin_pages import addresses, row_of_each_model
from tests.backoffice import superuser
from tests.callcentre.factories import UserFactory, code_of
from tests.signin.second_factor import (
    CODE,
    INDEX,
    LOGIN,
    OVERVIEW,
    SET_UP,
    SET_UP_AT_LOG_IN,
    a_factor,
    after_the_password,
    recovery_codes,
)
from tests.statements import few_statements

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]


@pytest.fixture
def enforced(settings: Any) -> None:
    settings.TWO_FACTOR = "supervisors"


@pytest.mark.slow("hashes passwords")
def test_an_enforced_person_reaches_only_the_set_up(enforced: None) -> None:
    paths = [*addresses(row_of_each_model()), "/admin/search/", "/admin/overview/now", "/admin/desk/", OVERVIEW, SET_UP]
    UserFactory(username="ewa", admin=True)

    client, answer = after_the_password()

    assert answer.url == SET_UP_AT_LOG_IN
    opened = [path for path in paths if not client.get(path).headers.get("Location", "").startswith(LOGIN)]
    assert [path for path in opened if not path.startswith("/admin/jsi18n")] == []
    assert client.get("/api/docs").status_code == 401


def test_an_enforced_person_sets_up_the_second_factor_at_the_log_in(enforced: None) -> None:
    UserFactory(username="ewa", admin=True)
    client, _answer = after_the_password(next="/admin/search/")
    client.page(SET_UP_AT_LOG_IN)

    answer = client.post(SET_UP_AT_LOG_IN, {"code": code_of(SecondFactor.objects.get())})

    assert len(recovery_codes(answer.content)) == 10
    assert b'href="/admin/search/"' in answer.content
    assert client.get(INDEX).status_code == 200


def test_an_open_session_of_an_enforced_person_without_second_factor_does_not_count(settings: Any) -> None:
    client = superuser()
    before = client.get(INDEX).status_code

    settings.TWO_FACTOR = "supervisors"

    assert (before, client.get(INDEX).status_code) == (200, 302)


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
def test_rights_decide_about_enforcement(
    permission: str, expected: str, by_group: bool, enforced: None, django_user_model: Any
) -> None:
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


def test_an_enforced_person_with_second_factor_logs_in(enforced: None) -> None:
    factor = a_factor(is_superuser=True)
    client, _answer = after_the_password()

    client.submit(CODE, code=code_of(factor))

    assert client.get(INDEX).status_code == 200


@pytest.mark.parametrize("mode", ["off", "supervisors"])
def test_neither_the_setting_nor_a_second_factor_costs_a_statement(mode: str, settings: Any) -> None:
    plain, protected = UserFactory(staff=True), a_factor().user
    settings.TWO_FACTOR = mode
    for user in (plain, protected):
        client = Client()
        client.force_login(user)
        with few_statements(2):  # the session, the user
            assert client.get("/api/docs").status_code == 200
