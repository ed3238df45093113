"""Limits of guessing and of requests, and the service without Redis."""

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
import time_machine
from django.conf import settings
from django.utils import timezone
from prometheus_client import REGISTRY
from rest_framework.throttling import BaseThrottle

from callcentre import rate_limits
from callcentre.api.viewsets import PingViewSet
from callcentre.core import redis_client
from callcentre.core.actor import SYSTEM
from callcentre.core.errors import ErrorCode
from callcentre.models import ApiUser, Lockout
from reports.api.views import QueuesReportViewSet
from tests.callcentre.factories import LockoutFactory
from tests.conftest import ACTOR, ApiClient
from tests.reports.contract import SPAN

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_hashes")]


@pytest.fixture
def user():
    _, secret = ApiUser.create(SYSTEM, "robot")
    return "robot", secret


def ping(login: str, secret: str, address: str = "192.0.2.1") -> Any:
    return ApiClient(login, secret).get("/api/ping", REMOTE_ADDR=address)


def guess(times: int, login: str | Callable[[int], str] = "robot", address: str = "192.0.2.1") -> list[int]:
    return [
        ping(login if isinstance(login, str) else login(n), f"wrong-{n}", address).status_code for n in range(times)
    ]


# Guessing


def test_twenty_wrong_secrets_of_one_login_lock_it_out_at_that_address_alone(user: tuple[str, str]):
    _, secret = ApiUser.create(SYSTEM, "other")
    assert guess(19) == [401] * 19
    assert ping(*user).status_code == 204
    assert guess(1) == [401]

    response = ping(*user)

    assert response.status_code == 429
    assert response.json()["errors"][0]["code"] == ErrorCode.TOO_MANY_FAILURES.number
    # The database's clock stands still in the test's transaction, so it may be a second behind.
    assert 200 <= int(response["Retry-After"]) <= 301
    assert ping(user[0], user[1], "192.0.2.2").status_code == 204
    assert ping("other", secret).status_code == 204


def test_guesses_at_logins_that_do_not_exist_count_too(user):
    assert guess(21, "nobody")[-1] == 429


@pytest.mark.parametrize("login", ["", " "])
def test_guesses_without_a_login_do_not_lock_out_the_address(login, user):
    guess(25, login)

    assert ping(*user).status_code == 204


def test_two_hundred_failures_lock_out_only_their_address(user: tuple[str, str]):
    assert guess(200, lambda n: f"login-{n}") == [401] * 200

    assert ping(*user).status_code == 429
    assert ping(user[0], user[1], "192.0.2.2").status_code == 204


@pytest.mark.parametrize(
    ("guessing", "locked", "free"),
    [
        ([f"2001:db8:1:2::{n:x}" for n in range(20)], "2001:db8:1:2:ffff::1", "2001:db8:1:3::1"),
        (["::ffff:192.0.2.1"] * 20, "192.0.2.1", "192.0.2.2"),
    ],
)
def test_the_addresses_of_one_ipv6_network_and_both_spellings_of_ipv4_count_as_one(
    guessing, locked, free, user: tuple[str, str]
):
    for address in guessing:
        guess(1, address=address)

    assert [ping(user[0], user[1], address).status_code for address in (locked, free)] == [429, 204]


def test_a_lockout_ends_by_itself_and_a_lifted_one_starts_a_new_count(user):
    guess(20)
    Lockout.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert ping(*user).status_code == 204
    rate_limits.forget_failures(Lockout.objects.get())

    assert guess(20) == [401] * 20
    assert ping(*user).status_code == 429


def test_expired_lockouts_are_deleted():
    from callcentre.tasks import prune_idempotency

    LockoutFactory(over=True)
    current = LockoutFactory()

    prune_idempotency()

    assert list(Lockout.objects.all()) == [current]


# Rates


@pytest.fixture
def in_one_minute():
    with time_machine.travel(datetime(2026, 6, 1, 12, 0, 15, tzinfo=UTC), tick=False):
        yield


@pytest.fixture
def limited(in_one_minute, api_client):
    return api_client("*", rate_limit=3)


def test_each_answer_has_the_remaining_limit_and_over_it_is_429(limited):
    paths = ("/api/ping", "/api/nothing", "/api/outbounds/XXXXX", "/api/ping", "/api/ping")
    answers = [limited.get(path) for path in paths]

    assert [answer.status_code for answer in answers] == [204, 404, 404, 429, 429]
    assert [answer["RateLimit-Limit"] for answer in answers] == ["3"] * 5
    assert [answer["RateLimit-Remaining"] for answer in answers] == ["2", "1", "0", "0", "0"]
    assert [answer["RateLimit-Reset"] for answer in answers] == ["45"] * 5
    assert answers[4].json()["errors"][0]["code"] == ErrorCode.TOO_MANY_REQUESTS.number
    assert answers[4]["Retry-After"] == "45"


def test_a_new_minute_is_a_new_limit(api_client):
    client = api_client("*", rate_limit=1)
    statuses = []
    for minute in (0, 1):
        with time_machine.travel(datetime(2026, 6, 1, 12, minute, tzinfo=UTC), tick=False):
            statuses.append([client.get("/api/ping").status_code for _ in range(2)])

    assert statuses == [[204, 429], [204, 429]]


def test_each_api_user_has_a_limit_of_its_own_that_takes_effect_at_once(limited, api_client):
    for _ in range(5):
        ApiClient(limited.login_name, "wrong").get("/api/ping")
    assert [limited.get("/api/ping").status_code for _ in range(4)] == [204, 204, 204, 429]

    assert api_client("*", rate_limit=3).get("/api/ping").status_code == 204
    ApiUser.objects.get(login=limited.login_name).edit(ACTOR, rate_limit=10)
    assert limited.get("/api/ping").status_code == 204


@pytest.mark.parametrize(("limit", "header"), [(0, None), (None, "1234")])
def test_a_limit_of_zero_is_none_and_a_user_without_a_limit_has_the_default(limit, header, api_client, settings):
    settings.API_RATE_LIMIT = 1234

    response = api_client("*", rate_limit=limit).get("/api/ping")

    assert (response.status_code, response.get("RateLimit-Limit")) == (204, header)


def test_an_operation_may_have_a_rate_of_its_own(api, in_one_minute, monkeypatch):
    limited = replace(PingViewSet.ping.operation, rate=2)  # type: ignore[attr-defined]
    monkeypatch.setattr(PingViewSet.ping, "operation", limited)

    answers = [api.get("/api/ping") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [204, 204, 429]
    assert answers[2].json()["errors"][0]["code"] == ErrorCode.TOO_MANY_REQUESTS.number
    assert 1 <= int(answers[2]["Retry-After"]) <= 60
    assert api.get("/api/agents").status_code == 200


def test_a_throttle_of_drf_is_applied(api, monkeypatch):
    """Check that the base of the views leaves out no step of DRF's."""

    class Never(BaseThrottle):
        def allow_request(self, request, view):
            return False

        def wait(self):
            return 7.5

    monkeypatch.setattr(PingViewSet, "throttle_classes", [Never])

    answer = api.get("/api/ping")

    assert (answer.status_code, answer["Retry-After"]) == (429, "8")


@pytest.mark.parametrize("limit", [1, 3, 200, 201, 1000])
def test_several_processes_together_never_exceed_the_limit(limit, in_one_minute):
    processes = [rate_limits.RateLimiter() for _ in range(3)]
    user_id = 1_000_000 + limit

    admitted = sum(processes[n % 3].admit(user_id, limit).retry_after == 0 for n in range(limit + 50))

    assert admitted <= limit
    assert admitted >= limit - 2 * (limit // rate_limits.SHARES)


Attempts = list[tuple[float | None, float | None]]


@pytest.fixture(params=["refuses", "hangs"])
def dead_redis(request, monkeypatch):
    """A port without a listener, or one that never answers.

    Yields the time limits of each attempt to connect, and to get an answer.
    """
    attempts: Attempts = []
    connect = redis.Connection._connect

    def note_and_connect(self):
        attempts.append((self.socket_connect_timeout, self.socket_timeout))
        return connect(self)

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if request.param == "hangs":
            listener.listen(1)
        host, port = listener.getsockname()
        # The client as the service makes it, for another address.
        monkeypatch.setattr(settings, "REDIS_URL", f"redis://{host}:{port}/0")
        dead = _MAKE_CLIENT()
        monkeypatch.setattr(rate_limits, "client", lambda: dead)
        monkeypatch.setattr(redis.Connection, "_connect", note_and_connect)
        yield attempts


_MAKE_CLIENT = redis_client.client.__wrapped__


def let_through() -> float:
    return REGISTRY.get_sample_value("callcentre_limits_let_through_total") or 0.0


def test_without_redis_requests_pass_within_100_ms_and_are_counted(dead_redis, api_client):
    client = api_client("*", rate_limit=1)
    before = let_through()

    first = rate_limits.rates.admit(999, 1)

    assert dead_redis == [(0.1, 0.1)]
    assert first.retry_after == 0
    assert [client.get("/api/ping").status_code for _ in range(3)] == [204] * 3
    assert let_through() - before == 4


def test_without_redis_it_is_not_asked_again_for_a_second(dead_redis, monkeypatch):
    asked_at = time.monotonic()
    rate_limits.rates.admit(999, 1)
    assert rate_limits._Script.paused_until >= asked_at + 1

    # A second that does not end during this test, and its end.
    for end, asked in ((time.monotonic() + 1000, 1), (time.monotonic(), 2)):
        monkeypatch.setattr(rate_limits._Script, "paused_until", end)
        for _ in range(100 if asked == 1 else 1):
            rate_limits.rates.admit(999, 1)
        assert len(dead_redis) == asked


def test_without_redis_a_wrong_secret_is_401_still(dead_redis, user):
    assert guess(25) == [401] * 25
    assert ping(*user).status_code == 204


def test_the_rate_of_a_view_with_one_operation_holds(api, in_one_minute, monkeypatch):
    limited = replace(QueuesReportViewSet.operation, rate=2)
    monkeypatch.setattr(QueuesReportViewSet, "operation", limited)
    path = f"/api/queues_report?{SPAN}"

    assert [api.get(path).status_code for _ in range(3)] == [200, 200, 429]
