"""Authentication of API users: valid credentials, their end, and changes that take effect at once everywhere."""

import base64
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.hashers import check_password
from django.core.exceptions import ValidationError
from django.db import connection
from django.utils import timezone

from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.errors import Conflict
from callcentre.models import ApiUser, ApiUserChange
from tests.conftest import ACTOR, ApiClient
from tests.serving import at_once, end_connections


def ping(login: str, secret: str, **extra: Any) -> int:
    return int(ApiClient(login, secret).get("/api/ping", **extra).status_code)


@pytest.fixture(autouse=True)
def _quick_hashes(request):
    """Use the slow hash: servers are processes of their own and know no other."""
    if "servers" not in request.fixturenames:
        request.getfixturevalue("quick_hashes")


@pytest.fixture
def user(db):
    return ApiUser.create(SYSTEM, "robot")


# Headers


def test_a_wrong_secret_and_an_unknown_login_get_one_answer(user):
    answers = [ApiClient(*credential).get("/api/ping") for credential in (("nobody", "x"), ("robot", "wrong"))]

    assert [answer.status_code for answer in answers] == [401, 401]
    assert [answer["WWW-Authenticate"] for answer in answers] == ['Basic realm="api", charset="UTF-8"'] * 2
    assert answers[0].json()["errors"] == answers[1].json()["errors"]


def test_credentials_are_utf_8_and_a_password_may_have_colons(db):
    ApiUser.create(SYSTEM, "zażółć", "gęślą:jaźń:🙂")

    assert ping("zażółć", "gęślą:jaźń:🙂") == 204


def _basic(text: bytes) -> str:
    return "Basic " + base64.b64encode(text).decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic ",
        "Basic !!!!",
        "Basic cm9ib3Q",
        "Bearer abc",
        "Digest username=robot",
        "Basic żółć",
        "Basic " + "A" * 100_001,
        _basic(b"robot"),
        _basic(b"\xff\xfe:x"),
        _basic(b"ro\0bot:x"),
        _basic(b"robot:\0"),
        _basic(b":"),
        _basic(b"x" * 1000 + b":x"),
        _basic(b"robot:" + b"x" * 5000),
    ],
    ids=range(15),
)
def test_a_malformed_header_is_401(header, user):
    assert ApiClient().get("/api/ping", HTTP_AUTHORIZATION=header).status_code == 401


@pytest.mark.parametrize("scheme", ["basic", "BASIC", "Basic "])
def test_the_scheme_may_be_spelled_in_any_case(scheme, user):
    token = base64.b64encode(f"robot:{user[1]}".encode()).decode()

    assert ApiClient().get("/api/ping", HTTP_AUTHORIZATION=f"{scheme} {token}").status_code == 204


# Restrictions of a user


def test_a_disabled_or_expired_user_is_refused_and_one_that_will_expire_is_not(user):
    soon, ago = timezone.now() + timedelta(minutes=1), timezone.now() - timedelta(seconds=1)

    for values, status in (({"expires_at": soon}, 204), ({"expires_at": ago}, 401), ({"expires_at": None}, 204)):
        user[0].edit(ACTOR, **values)
        assert ping("robot", user[1]) == status, values
    user[0].edit(ACTOR, is_active=False)
    assert ping("robot", user[1]) == 401


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("10.1.2.3", 204),
        ("192.0.2.7", 204),
        ("::ffff:10.1.2.3", 204),
        ("2001:db8::1", 204),
        ("10.2.0.1", 401),
        ("", 401),
    ],
)
def test_a_user_with_networks_is_accepted_only_from_those(address, status, user):
    user[0].edit(ACTOR, allowed_networks=["10.1.0.0/16", "192.0.2.7", "2001:db8::/32"])

    assert ping("robot", user[1], REMOTE_ADDR=address) == status


def test_rights_are_read_at_each_request(api_client):
    client = api_client("agents:read", login="robot")
    assert client.get("/api/agents").status_code == 200

    ApiUser.objects.get(login="robot").edit(ACTOR, rights=["campaigns:read"])

    assert client.get("/api/agents").status_code == 403


def test_wildcards_stand_for_all_areas_and_reading_is_not_writing(api_client):
    rights = ("*", "*:read", "agents:read", "agents:write")

    assert [api_client(right).get("/api/agents").status_code for right in rights] == [200, 200, 200, 403]
    assert api_client("*:read").post("/api/outbound_groups", {"name": "x"}).status_code == 403


# Secrets and passwords


def test_the_database_holds_no_secret(user):
    robot, secret = user
    secrets = [secret, robot.rotate_secret(ACTOR), "correct horse"]
    robot.set_password(ACTOR, secrets[2])

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(row_to_json(u)::text || row_to_json(c)::text, ' ')"
            " FROM callcentre_apiuser u, callcentre_apiuserchange c"
        )
        stored = cursor.fetchone()[0]
    assert not any(one in stored for one in secrets)


def test_a_rotated_secret_overlaps_with_its_predecessor_for_a_while(user):
    robot, first = user
    second = robot.rotate_secret(ACTOR, overlap=timedelta(hours=1))
    assert (ping("robot", first), ping("robot", second)) == (204, 204)
    ApiUser.objects.update(previous_secret_expires_at=timezone.now() - timedelta(minutes=1))
    assert (ping("robot", first), ping("robot", second)) == (401, 204)

    third = robot.rotate_secret(ACTOR)
    assert [ping("robot", secret) for secret in (first, second, third)] == [401, 204, 204]

    robot.rotate_secret(ACTOR, overlap=timedelta(seconds=-1))
    assert ping("robot", third) == 401


def test_a_password_replaces_the_secret_and_is_hashed_slowly_once(user, monkeypatch):
    calls = []

    def check(password, encoded):
        calls.append(password)
        return check_password(password, encoded)

    monkeypatch.setattr("callcentre.api.authentication.check_password", check)
    robot, secret = user
    robot.set_password(ACTOR, "correct horse")

    assert [ping("robot", "correct horse") for _ in range(5)] == [204] * 5
    assert calls == ["correct horse"]
    robot.set_password(ACTOR, "battery staple")
    assert [ping("robot", key) for key in (secret, "correct horse", "battery staple")] == [401, 401, 204]


def test_an_empty_secret_is_refused(db):
    ApiUser.create(SYSTEM, "human", "correct horse")
    ApiUser.objects.filter(login="human").update(password="")

    assert ping("human", "") == 401


# History


def test_last_use_is_stored_at_most_once_a_minute_and_not_for_a_refusal(user):
    def used(secret):
        ping("robot", secret)
        return ApiUser.objects.values_list("last_used_at", flat=True).get()

    assert used("wrong") is None
    noted = used(user[1])
    assert timezone.now() - noted < timedelta(minutes=5)
    assert used(user[1]) == noted
    ApiUser.objects.update(last_used_at=noted - timedelta(minutes=2))
    assert used(user[1]) > noted


def test_every_change_is_kept_with_its_actor(user):
    robot = user[0]
    robot.edit(Actor("user", 7, "Ewa"), rights=["*"], description="Nightly import")
    robot.edit(Actor("user", 7, "Ewa"), is_active=True, rights=["*"])
    robot.rotate_secret(Actor("user", 8, "Jan"))
    robot.set_password(Actor("user", 8, "Jan"), "correct horse")

    changes = list(ApiUserChange.objects.order_by("id"))

    assert [(change.action, change.actor_kind, change.actor_name) for change in changes] == [
        ("create", "system", "system"),
        ("edit", "user", "Ewa"),
        ("rotate_secret", "user", "Jan"),
        ("set_password", "user", "Jan"),
    ]
    assert changes[1].changes == {"rights": [[], ["*"]], "description": ["", "Nightly import"]}


def test_of_two_rotations_from_one_version_the_second_is_refused(user):
    """Let both read the row before either writes: the version is checked under the lock."""
    robot, secret = user
    first, second = ApiUser.objects.get(pk=robot.pk), ApiUser.objects.get(pk=robot.pk)

    new = first.rotate_secret(ACTOR, version=first.version)
    with pytest.raises(Conflict):
        second.rotate_secret(ACTOR, version=second.version)

    assert [ApiClient(robot.login, key).get("/api/ping").status_code for key in (secret, new)] == [204, 204]


@pytest.mark.parametrize(
    "values",
    [
        {"login": "with:colon"},
        {"login": ""},
        {"login": "x" * 151},
        {"login": "x", "rights": ["campaigns:delete"]},
        {"login": "x", "rights": ["nothing:read"]},
        {"login": "x", "allowed_networks": ["10.0.0.0/33"]},
        {"login": "x", "allowed_networks": ["10.0.0.1/8"]},
        {"login": "robot"},
    ],
    ids=str,
)
def test_a_wrong_api_user_is_refused(values, user):
    with pytest.raises(ValidationError):
        ApiUser.create(ACTOR, **values)

    assert ApiUser.objects.count() == 1


def test_a_change_takes_effect_in_every_process_on_its_next_request(servers, credential):
    def statuses(secret):
        auth = f"committed:{secret}"
        return [server.request("GET", "/api/agents", auth=auth).status for server in servers * 2]

    user, secret = ApiUser.objects.get(), credential.partition(":")[2]
    assert statuses(secret) == [200] * 4
    user.edit(ACTOR, rights=["campaigns:read"])
    assert statuses(secret) == [403] * 4
    user.edit(ACTOR, rights=["*"])
    for new in ("correct horse", "battery staple"):
        user.set_password(ACTOR, new)
        assert (statuses(secret), statuses(new)) == ([401] * 4, [200] * 4)
        secret = new

    user.edit(ACTOR, is_active=False)
    assert statuses(secret) == [401] * 4


@pytest.mark.parametrize(
    ("question", "expected"),
    # A body is read after authentication, and handled in another thread with a connection of its own.
    [(("GET", "/api/agents"), 200), (("POST", "/api/tickets/999999/agent_response", {"body": "x"}), 404)],
)
def test_a_closed_database_connection_fails_no_request(servers, credential, question, expected):
    [server, _] = servers
    # Each of several threads has a connection.
    at_once([partial(server.request, "GET", "/api/agents", auth=credential)] * 16)

    end_connections()

    assert [server.request(*question, auth=credential).status for _ in range(20)] == [expected] * 20
