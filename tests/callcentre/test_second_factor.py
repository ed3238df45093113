"""The second factor: codes of an app, recovery codes, enforcement, and its removal."""

import base64
import re
import threading
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Permission
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from callcentre.core.audit import AuditAction, AuditEntry
from callcentre.models import User
from callcentre.passwords import REALM
from callcentre.signin.models import RecoveryCode, SecondFactor
from callcentre.signin.verbs.second_factor import check_code, confirm_second_factor
from tests.admin_pages import addresses, row_of_each_model
from tests.backoffice import BackOffice, after_a_while, errors_of, messages_of, page_of, superuser
from tests.callcentre.factories import LockoutFactory, SecondFactorFactory, UserFactory, code_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

INDEX, LOGIN = reverse("admin:index"), reverse("admin:login")
CODE, SET_UP_AT_LOG_IN = reverse("log-in-code"), reverse("log-in-set-up")
OVERVIEW, SET_UP = reverse("second-factor"), reverse("second-factor-set-up")
CODES, OFF = reverse("second-factor-codes"), reverse("second-factor-off")
WRONG = "000000"


@pytest.fixture(autouse=True)
def _forget_counts() -> None:
    cache.clear()


@pytest.fixture
def clock(time_machine: Any) -> Any:
    time_machine.move_to(timezone.now())
    return time_machine


@pytest.fixture
def enforced(settings: Any) -> None:
    settings.TWO_FACTOR = "supervisors"


def a_factor(**values: Any) -> SecondFactor:
    return SecondFactorFactory(user=UserFactory(username="ewa", staff=True, **values))


def after_the_password(username: str = "ewa", **values: Any) -> tuple[BackOffice, Any]:
    """Return a browser after the log-in page, and the answer to it."""
    client = BackOffice()
    return client, client.submit(LOGIN, username=username, password="user-pass", **values)


def recovery_codes(page: bytes) -> list[str]:
    return re.findall(r"<code>((?:\w{4}-){3}\w{4})</code>", page.decode())


# The second step


def test_the_password_alone_is_no_log_in() -> None:
    a_factor(is_superuser=True)

    client, answer = after_the_password()

    assert answer.url == CODE
    assert "_auth_user_id" not in client.session
    assert client.get(INDEX).headers["Location"].startswith(LOGIN)


def test_a_code_of_the_app_completes_the_log_in() -> None:
    factor = a_factor(is_superuser=True)
    client, _answer = after_the_password(next="/admin/search/")

    answer = client.submit(CODE, code=code_of(factor))

    assert answer.url == "/admin/search/"
    assert client.get(INDEX).status_code == 200


def test_between_the_steps_no_page_of_the_admin_opens() -> None:
    paths = [*addresses(row_of_each_model()), "/admin/autocomplete/", "/admin/search/", "/admin/overview/now"]
    paths += ["/admin/desk/", "/admin/desk/now", "/admin/wallboard/", OVERVIEW, SET_UP, CODES, OFF, "/admin/sessions/"]
    a_factor(is_superuser=True)
    client, _answer = after_the_password()

    opened = [path for path in paths if not client.get(path).headers.get("Location", "").startswith(LOGIN)]

    assert [path for path in opened if not path.startswith("/admin/jsi18n")] == []


@pytest.mark.parametrize("path", ["/api/docs", "/api/schema", "/api/ping"])
def test_between_the_steps_the_documents_of_the_api_do_not_open(path: str) -> None:
    a_factor(is_superuser=True)
    client, _answer = after_the_password()

    assert client.get(path).status_code == 401


def test_polls_are_refused_between_the_steps() -> None:
    a_factor(is_superuser=True)
    client, _answer = after_the_password()

    assert client.get("/admin/overview/now", headers={"x-poll": "1"}).headers["Location"].startswith(LOGIN)


def test_the_second_step_does_not_redirect_to_another_site() -> None:
    factor = a_factor()
    client, _answer = after_the_password(next="https://evil.example/")

    assert client.submit(CODE, code=code_of(factor)).url == INDEX


def test_the_second_step_needs_the_first() -> None:
    factor = a_factor()

    answer = Client().post(CODE, {"code": code_of(factor)})

    assert answer.headers["Location"] == LOGIN


def test_the_second_step_must_follow_within_ten_minutes(clock: Any) -> None:
    factor = a_factor()
    client, _answer = after_the_password()
    clock.shift(timedelta(minutes=11))

    assert client.post(CODE, {"code": code_of(factor)}).headers["Location"] == LOGIN


def test_a_changed_password_ends_a_log_in_between_its_steps() -> None:
    factor = a_factor()
    client, _answer = after_the_password()
    factor.user.set_password("another-pass-1")
    factor.user.save()

    assert client.post(CODE, {"code": code_of(factor)}).headers["Location"] == LOGIN


def test_an_inactive_user_does_not_get_past_the_second_step() -> None:
    factor = a_factor()
    client, _answer = after_the_password()
    User.objects.update(is_active=False)

    assert client.post(CODE, {"code": code_of(factor)}).headers["Location"] == LOGIN


def test_a_person_without_second_factor_logs_in_by_the_password_alone() -> None:
    UserFactory(username="ewa", staff=True)

    _client, answer = after_the_password()

    assert answer.url == INDEX


# Codes


def test_a_code_works_once(clock: Any) -> None:
    factor = a_factor()
    code = code_of(factor)

    assert [check_code(factor.user, code), check_code(factor.user, code)] == [True, False]


def test_an_older_code_is_refused_after_a_newer_one(clock: Any) -> None:
    factor = a_factor()
    older = code_of(factor, -1)

    assert [check_code(factor.user, code_of(factor)), check_code(factor.user, older)] == [True, False]


@pytest.mark.parametrize(("steps", "expected"), [(-2, False), (-1, True), (1, True), (2, False)])
def test_a_phone_may_be_thirty_seconds_early_or_late(steps: int, expected: bool, clock: Any) -> None:
    factor = a_factor()

    assert check_code(factor.user, code_of(factor, steps)) is expected


@pytest.mark.parametrize("text", ["", " ", "12345", "１２３４５６", "-12345", "1e5", "x" * 40, "\ud83d"])
def test_other_texts_are_refused(text: str) -> None:
    assert check_code(a_factor().user, text) is False


def test_a_code_may_be_typed_with_spaces(clock: Any) -> None:
    factor = a_factor()
    code = code_of(factor)

    assert check_code(factor.user, f" {code[:3]} {code[3:]} ") is True


def test_after_wrong_codes_a_right_one_has_to_wait(clock: Any) -> None:
    factor = a_factor()

    for wait in (1, 2, 4):
        assert check_code(factor.user, WRONG) is False
        assert check_code(factor.user, code_of(factor)) is False
        clock.shift(timedelta(seconds=wait))

    assert check_code(factor.user, code_of(factor)) is True


def test_the_page_says_how_long_to_wait(clock: Any) -> None:
    a_factor()
    client, _answer = after_the_password()

    answer = client.submit(CODE, code=WRONG, expected=200)

    assert errors_of(answer) == {"code": ["This code is wrong, or was used before. Wait 1 second."]}


def test_wrong_codes_lock_out_like_wrong_passwords(settings: Any) -> None:
    settings.LOGIN_FAILURES_PER_LOGIN = 3
    factor = a_factor()
    client, _answer = after_the_password()

    statuses = [client.post(CODE, {"code": WRONG}).status_code for _ in range(4)]

    assert statuses == [200, 200, 429, 429]
    assert BackOffice().post(LOGIN, {"username": "ewa", "password": "user-pass"}).status_code == 429
    assert factor.user.recovery_codes.count() == 0


def test_during_a_lockout_even_a_right_code_is_refused() -> None:
    factor = a_factor()
    client, _answer = after_the_password()
    LockoutFactory(realm=REALM, source="127.0.0.1", login="ewa")

    answer = client.post(CODE, {"code": code_of(factor)})

    assert answer.status_code == 429
    assert answer.headers["Retry-After"]


@pytest.mark.django_db(transaction=True)
def test_of_two_requests_with_one_code_at_once_one_succeeds(committed_db: None) -> None:
    factor = a_factor()
    code, results = code_of(factor), []

    def check() -> None:
        results.append(check_code(factor.user, code))
        connection.close()

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == [False, False, False, True]


# Setting up


def test_a_person_sets_up_the_second_factor_and_logs_in_with_it(clock: Any) -> None:
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


def test_the_qr_code_holds_the_key_for_the_app() -> None:
    client = superuser()

    values = client.values(SET_UP)

    factor = SecondFactor.objects.get()
    address = urlsplit(values["address"])
    assert (address.scheme, address.netloc) == ("otpauth", "totp")
    assert parse_qs(address.query)["secret"] == [factor.key] == [values["key"].replace(" ", "")]
    assert len(base64.b32decode(factor.key)) == 20
    assert values["image"].startswith("data:image/svg+xml")


def test_the_key_stays_for_ten_minutes_in_a_session(clock: Any) -> None:
    client = superuser()
    first = client.values(SET_UP)["key"]

    clock.shift(timedelta(minutes=9))
    second = client.values(SET_UP)["key"]
    client.post(SET_UP, {"code": WRONG})
    third = client.values(SET_UP)["key"]
    clock.shift(timedelta(minutes=2))

    assert first == second == third
    assert client.values(SET_UP)["key"] != first


def test_another_session_gets_another_key() -> None:
    """A stranger with the password must not know the key that the person then confirms."""
    UserFactory(username="ewa", admin=True)
    stranger, _answer = after_the_password()
    client, _answer = after_the_password()
    first = stranger.values(SET_UP)["key"]

    second = client.values(SET_UP)["key"]
    shown = stranger.post(SET_UP, {"code": WRONG}).context["key"]

    assert len({first, second, shown}) == 3


def test_the_key_is_encrypted_in_the_database() -> None:
    factor = a_factor()

    with connection.cursor() as cursor:
        cursor.execute("SELECT key FROM signin_secondfactor")
        stored = cursor.fetchone()[0]

    assert factor.key not in stored


def test_a_wrong_code_does_not_switch_on_the_second_factor() -> None:
    client = superuser()
    client.page(SET_UP)

    answer = client.post(SET_UP, {"code": WRONG})

    assert "code" in errors_of(answer)
    assert SecondFactor.objects.get().confirmed is False


def test_an_unconfirmed_second_factor_is_not_asked_for() -> None:
    SecondFactorFactory(user=UserFactory(username="ewa", staff=True), confirmed=False)

    assert after_the_password()[1].url == INDEX


def test_setting_up_asks_for_the_own_password() -> None:
    client = after_a_while(superuser())
    client.page(SET_UP)

    answer = client.post(SET_UP, {"code": code_of(SecondFactor.objects.get())})

    assert "own_password" in errors_of(answer)
    assert SecondFactor.objects.get().confirmed is False


def test_setting_up_ends_the_other_sessions() -> None:
    UserFactory(username="ewa", admin=True)
    other, _answer = after_the_password()
    client, _answer = after_the_password()
    client.page(SET_UP)

    client.post(SET_UP, {"code": code_of(SecondFactor.objects.get())})

    assert other.get(INDEX).status_code == 302
    assert client.get(INDEX).status_code == 200


def test_a_second_factor_that_is_on_is_not_replaced() -> None:
    factor = a_factor()
    client = BackOffice()
    client.force_login(factor.user)

    assert client.get(SET_UP).headers["Location"] == OVERVIEW
    assert confirm_second_factor(factor.user, factor.user.actor, code_of(factor)) == []


# Recovery codes


def with_codes() -> tuple[SecondFactor, BackOffice, list[str]]:
    factor = a_factor()
    client = BackOffice()
    client.force_login(factor.user)
    return factor, client, recovery_codes(client.post(CODES, {}).content)


def test_a_recovery_code_completes_the_log_in_once() -> None:
    _factor, _client, codes = with_codes()
    first, _answer = after_the_password()
    second, _answer = after_the_password()

    assert first.submit(CODE, code=codes[3].upper()).url == INDEX
    assert "code" in errors_of(second.submit(CODE, code=codes[3], expected=200))
    assert RecoveryCode.objects.count() == 9


def test_recovery_codes_work_while_codes_of_the_app_have_to_wait() -> None:
    factor, _client, codes = with_codes()
    check_code(factor.user, WRONG)

    assert check_code(factor.user, codes[0]) is True


def test_recovery_codes_are_stored_as_hashes() -> None:
    _factor, _client, codes = with_codes()

    stored = set(RecoveryCode.objects.values_list("digest", flat=True))

    assert stored.isdisjoint({*codes, *(code.replace("-", "") for code in codes)})


def test_a_new_set_replaces_the_old_one() -> None:
    factor, client, codes = with_codes()

    fresh = recovery_codes(client.post(CODES, {}).content)

    assert check_code(factor.user, codes[0]) is False
    assert check_code(factor.user, fresh[0]) is True


def test_no_page_shows_recovery_codes_again() -> None:
    _factor, client, codes = with_codes()

    text = client.page(OVERVIEW) + client.page(CODES)

    assert not any(code in text for code in codes)


@pytest.mark.parametrize("path", [CODES, OFF])
def test_changes_of_the_second_factor_ask_for_the_own_password(path: str) -> None:
    factor, client, codes = with_codes()
    after_a_while(client)

    answer = client.post(path, {})

    assert "own_password" in errors_of(answer)
    assert SecondFactor.objects.get().confirmed is True
    assert check_code(factor.user, codes[0]) is True


def test_another_persons_recovery_code_is_refused() -> None:
    _factor, _client, codes = with_codes()
    other = SecondFactorFactory(user=UserFactory(username="jan", staff=True))

    assert check_code(other.user, codes[0]) is False


# Switching off


def test_switching_off_removes_key_and_recovery_codes() -> None:
    _factor, client, _codes = with_codes()

    client.post(OFF, {})

    assert (SecondFactor.objects.count(), RecoveryCode.objects.count()) == (0, 0)
    assert after_the_password()[1].url == INDEX


def test_an_administrator_removes_the_second_factor_of_a_person() -> None:
    factor = a_factor()
    client = superuser()

    answer = client.submit(page_of(factor.user, "remove_factor"))

    assert messages_of(answer) == ["The second factor is removed, and the person is logged out."]
    assert not SecondFactor.objects.exists()


@pytest.mark.parametrize("by_administrator", [False, True])
def test_removing_the_second_factor_ends_the_other_sessions(by_administrator: bool) -> None:
    factor, client, _codes = with_codes()
    other = BackOffice()
    other.force_login(factor.user)

    if by_administrator:
        client = superuser()
        client.submit(page_of(factor.user, "remove_factor"))
    else:
        client.post(OFF, {})

    assert other.get(INDEX).status_code == 302
    assert client.get(INDEX).status_code == 200


def test_removing_the_second_factor_of_a_person_asks_for_the_own_password() -> None:
    factor = a_factor()
    client = after_a_while(superuser())

    answer = client.post(page_of(factor.user, "remove_factor"), {})

    assert "own_password" in errors_of(answer)
    assert SecondFactor.objects.exists()


@pytest.mark.parametrize("page", ["remove_factor", "log_ins"])
def test_the_second_factor_and_sessions_of_a_stronger_person_are_out_of_reach(page: str) -> None:
    factor = a_factor(is_superuser=True)
    stronger, _answer = after_the_password()
    stronger.submit(CODE, code=code_of(factor))
    editor = UserFactory(staff=True)
    editor.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
    client = BackOffice()
    client.force_login(editor)

    answers = [client.get(page_of(factor.user, page)).status_code, client.post(page_of(factor.user, page)).status_code]

    assert answers == [403, 403]
    assert SecondFactor.objects.exists()
    assert stronger.get(INDEX).status_code == 200


def test_the_audit_log_has_setting_up_using_a_recovery_code_and_removing(clock: Any) -> None:
    UserFactory(username="ewa", staff=True)
    client, _answer = after_the_password()
    client.page(SET_UP)
    codes = recovery_codes(client.post(SET_UP, {"code": code_of(SecondFactor.objects.get())}).content)
    other, _answer = after_the_password()
    other.submit(CODE, code=codes[0])
    client.post(CODES, {})

    superuser().submit(page_of(User.objects.get(username="ewa"), "remove_factor"))

    ours = [
        *(AuditAction.SET_UP_FACTOR, AuditAction.USE_RECOVERY_CODE),
        *(AuditAction.RENEW_RECOVERY_CODES, AuditAction.REMOVE_FACTOR),
    ]
    entries = AuditEntry.objects.filter(action__in=ours).order_by("pk")
    assert [(entry.action, entry.object_name) for entry in entries] == [(action, "ewa") for action in ours]
    assert [entry.actor_name == "ewa" for entry in entries] == [True, True, True, False]


# Enforcement


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
def test_neither_the_setting_nor_a_second_factor_costs_a_statement(
    mode: str, settings: Any, django_assert_num_queries: Any
) -> None:
    plain, protected = UserFactory(staff=True), a_factor().user
    settings.TWO_FACTOR = mode
    for user in (plain, protected):
        client = Client()
        client.force_login(user)
        with django_assert_num_queries(2):  # the session, the user
            assert client.get("/api/docs").status_code == 200
