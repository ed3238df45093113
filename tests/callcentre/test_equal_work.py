"""Refused log-ins cost the same work for every login, and that work is bounded. Hashes are counted, not timed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from django.urls import reverse

from callcentre import passwords
from callcentre.api.authentication import verified_passwords
from callcentre.core import hashing
from callcentre.core.actor import SYSTEM
from callcentre.core.errors import ErrorCode
from callcentre.core.hashing import Busy, HashGate
from callcentre.models import ApiUser
from tests.backoffice import errors_of
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR, ApiClient
from tests.processes import wait_for

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

LOGIN = reverse("admin:login")


class CountingHasher(MD5PasswordHasher):
    """A quick hash that counts its computations."""

    algorithm = "counting"
    computed = 0

    def encode(self, password: str, salt: str) -> str:
        type(self).computed += 1
        return super().encode(password, salt)


@pytest.fixture(autouse=True)
def _counting(settings, monkeypatch):
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    monkeypatch.setattr(CountingHasher, "computed", 0)


def hashes(action: Callable[[], Any]) -> int:
    before = CountingHasher.computed
    action()
    return CountingHasher.computed - before


def ping(login: str, secret: str, **extra: Any) -> Any:
    return ApiClient(login, secret).get("/api/ping", **extra)


@pytest.fixture
def api_users():
    """Return login -> secret of API users of all kinds."""
    robot, secret = ApiUser.create(SYSTEM, "robot")
    rotated, _ = ApiUser.create(SYSTEM, "rotated")
    ApiUser.create(SYSTEM, "human", "correct horse")
    ApiUser.create(SYSTEM, "asleep", "correct horse", is_active=False)
    return {
        robot.login: secret,
        rotated.login: rotated.rotate_secret(ACTOR),
        "human": "correct horse",
        "asleep": "correct horse",
    }


@pytest.mark.parametrize("login", ["human", "robot", "rotated", "asleep", "unknown", "Human"])
def test_a_wrong_secret_costs_one_hash_for_every_login(login, api_users):
    answers = []

    computed = hashes(lambda: answers.append(ping(login, "wrong")))

    assert (answers[0].status_code, computed) == (401, 1)


@pytest.mark.parametrize(("login", "cost"), [("robot", 0), ("rotated", 0), ("human", 1)])
def test_a_right_password_costs_one_hash_in_the_life_of_a_process_and_a_secret_none(login, cost, api_users):
    assert [hashes(lambda: ping(login, api_users[login])) for _ in range(3)] == [cost, 0, 0]


def test_after_a_lockout_and_for_a_malformed_credential_no_hash_is_computed(settings):
    settings.LOGIN_FAILURES_PER_LOGIN, settings.LOGIN_FAILURES_PER_ADDRESS = 3, 30

    def log_in():
        return Client().post(LOGIN, {"username": "ewa", "password": "wrong"})

    for number in range(3):
        ping("unknown", f"wrong-{number}")
        log_in()
    for number in range(30):
        ping(f"unknown-{number}", "wrong", REMOTE_ADDR="192.0.2.8")

    assert hashes(lambda: ping("unknown", "wrong")) == 0
    assert hashes(lambda: ping("one-more", "wrong", REMOTE_ADDR="192.0.2.8")) == 0
    assert hashes(log_in) == 0
    assert hashes(lambda: Client(headers={"authorization": "Basic bm8tY29sb24="}).get("/api/ping")) == 0


@pytest.mark.parametrize("username", ["ewa", "asleep", "outside", "without", "unknown"])
def test_a_wrong_password_costs_one_hash_for_every_user(username):
    for name, values in {"ewa": {"staff": True}, "asleep": {"is_active": False}, "outside": {}, "without": {}}.items():
        user = UserFactory(username=name, **values)
        user.set_password(None if name == "without" else "user-pass")
        user.save()

    assert hashes(lambda: Client().post(LOGIN, {"username": username, "password": "wrong"})) == 1


# The bound


def full(gate: HashGate) -> HashGate:
    """Take all places of a gate."""
    while gate._places.acquire(blocking=False):
        pass
    return gate


@pytest.fixture
def full_gates(monkeypatch):
    monkeypatch.setattr(verified_passwords, "_gate", full(HashGate()))
    monkeypatch.setattr(passwords, "_gate", full(HashGate()))


@pytest.mark.parametrize("login", ["human", "robot", "unknown"])
def test_with_too_many_log_ins_at_once_a_credential_is_refused_without_a_hash(login, api_users, full_gates):
    UserFactory(username="ewa", staff=True)
    answers = []

    computed = hashes(lambda: answers.append(ping(login, "wrong")))
    computed += hashes(lambda: answers.append(Client().post(LOGIN, {"username": "ewa", "password": "user-pass"})))

    assert computed == 0
    assert [(answer.status_code, answer["Retry-After"]) for answer in answers] == [(429, "1")] * 2
    assert answers[0].json()["errors"][0]["code"] == ErrorCode.TOO_MANY_REQUESTS.number
    assert errors_of(answers[1]) == {"": ["Too many people log in at this moment. Try again in a few seconds."]}


def test_with_too_many_log_ins_at_once_verified_credentials_still_work(api_users, monkeypatch):
    ping("human", "correct horse")
    monkeypatch.setattr(verified_passwords, "_gate", full(HashGate()))

    assert [ping(login, api_users[login]).status_code for login in ("human", "robot", "rotated")] == [204] * 3


def test_guesses_at_the_api_leave_the_places_of_the_back_office_free(api_users, monkeypatch):
    monkeypatch.setattr(verified_passwords, "_gate", full(HashGate()))
    user = UserFactory(username="ewa", staff=True)
    user.set_password("user-pass")
    user.save()

    assert Client().post(LOGIN, {"username": "ewa", "password": "user-pass"}).status_code == 302


def test_a_process_computes_one_hash_at_a_time_and_lets_few_threads_wait():
    gate, other = HashGate(most_inside=3), HashGate(most_inside=3)
    computed: list[str] = []

    def compute(through, name):
        def work():
            computed.append(name)
            return True

        through.run("192.0.2.1", work)

    def fill(threads):
        for _ in range(2):
            threads.submit(compute, gate, "waited")
        threads.submit(compute, other, "waited at another gate")
        wait_for(lambda: (gate._places._value, other._places._value) == (0, 2))
        with pytest.raises(Busy):
            compute(gate, "refused")
        return list(computed)

    with ThreadPoolExecutor(4) as threads:
        before = gate.run("192.0.2.1", lambda: [fill(threads), "done"])

    assert before == [[], "done"]
    assert sorted(computed) == ["waited", "waited", "waited at another gate"]
    assert (gate._places._value, hashing._core.locked()) == (3, False)


def test_addresses_that_guess_leave_places_for_those_that_do_not():
    gate = HashGate(most_inside=3, kept_free=2)
    assert not gate.run("192.0.2.1", bool)

    def inside():
        """Ask for the one place of guessing addresses, then for a kept place."""
        with pytest.raises(Busy):
            gate.run("192.0.2.1", bool)
        return [str(gate._places._value)]

    assert gate.run("192.0.2.1", inside) == ["2"]
    assert gate.run("192.0.2.9", lambda: "never failed") == "never failed"


def test_a_guessing_address_is_suspect_for_five_minutes(monkeypatch):
    gate, now = HashGate(), [1000.0]
    monkeypatch.setattr("callcentre.core.hashing.time.monotonic", lambda: now[0])
    gate.run("192.0.2.1", bool)

    assert gate._is_suspect("192.0.2.1")
    now[0] += 300
    assert not gate._is_suspect("192.0.2.1")


def test_a_process_remembers_a_limited_number_of_addresses(monkeypatch):
    monkeypatch.setattr(hashing, "MOST_REMEMBERED", 10)
    gate = HashGate()

    for number in range(30):
        gate.run(f"192.0.2.{number}", bool)

    assert list(gate._failures) == [f"192.0.2.{number}" for number in range(20, 30)]


def test_a_failed_hash_releases_its_place():
    gate = HashGate()

    with pytest.raises(ZeroDivisionError):
        gate.run("192.0.2.1", lambda: 1 / 0)

    assert (gate._places._value, hashing._core.locked()) == (hashing.MOST_INSIDE, False)


@pytest.fixture
def held(monkeypatch):
    """Let hashes take as long as the test wants; none is computed, and at the end all continue."""
    go_on = threading.Event()

    def check(password, encoded):
        CountingHasher.computed += 1
        return go_on.wait(60)

    monkeypatch.setattr("callcentre.api.authentication.check_password", check)
    yield go_on
    go_on.set()
    verified_passwords._entries.clear()


@pytest.mark.parametrize(("logins", "computed"), [(["human"] * 12, 1), (["unknown", "other"], 2)])
def test_simultaneous_requests_with_one_credential_share_one_hash(logins, computed, held):
    """Unknown logins share no hash, because a login with a password shares none either."""
    with ThreadPoolExecutor(12) as threads:
        answers = [threads.submit(verified_passwords.check, login, "once", "stored", "") for login in logins]
        wait_for(lambda: len(verified_passwords._running) == computed and CountingHasher.computed)
        held.set()
        results = [answer.result(60) for answer in answers]

    assert (results, CountingHasher.computed) == ([True] * len(logins), computed)
