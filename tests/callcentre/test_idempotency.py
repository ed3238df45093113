"""Idempotency-Key: a repeated write runs once, whatever happens between the work and its answer."""

import os
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from callcentre.core.encryption import decrypt
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.models import ApiUser, IdempotencyRecord
from callcentre.tasks import prune_idempotency
from campaigns.models import Campaign, CampaignGroup
from campaigns.verbs.campaigns import create_group
from tests.callcentre.factories import IdempotencyRecordFactory
from tests.campaigns.factories import CampaignFactory
from tests.conftest import ACTOR, ApiClient
from tests.serving import at_once
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db
NEW_CAMPAIGN = {"name": "New", "dialer": "preview", "crm": False}


def post(api: ApiClient, path: str, body: Any, key: str = "a-key") -> Any:
    return api.post(f"/api/{path}", body, headers={"idempotency-key": key})


def error_code(response: Any) -> int:
    return int(response.json()["errors"][0]["code"])


def test_the_same_key_and_body_gives_the_first_answer_also_an_empty_one_and_runs_nothing(api):
    AgentFactory(login="anna")
    first, second = (post(api, "outbounds", NEW_CAMPAIGN) for _ in range(2))

    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert Campaign.objects.count() == 1
    assert "Idempotent-Replayed" not in first
    assert second["Idempotent-Replayed"] == "true"
    assert second["Content-Type"] == "application/json; charset=utf-8"
    assert first["X-Request-Id"] != second["X-Request-Id"]
    answers = [post(api, f"outbounds/{first.json()['id']}/add_agents", {"logins": ["anna"]}) for _ in range(2)]
    assert [(answer.status_code, answer.content) for answer in answers] == [(204, b"")] * 2
    assert answers[1]["Idempotent-Replayed"] == "true"


def test_the_same_key_with_another_body_is_409_and_changes_nothing(api):
    post(api, "outbound_groups", {"name": "Sales"})

    response = post(api, "outbound_groups", {"name": "Support"})

    assert response.status_code == 409
    assert error_code(response) == ErrorCode.KEY_REUSED.number
    assert CampaignGroup.objects.get().name == "Sales"


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        ("?a=1", "?a=2", 409),
        ("?a=1", "", 409),
        ("", "?a=1", 409),
        ("?a=1&a=2", "?a=2&a=1", 409),
        ("?a=1%26b=2", "?a=1&b=2", 409),
        ("?a=1&b=2", "?b=2&a=1", 201),
        ("?a=%31", "?a=1", 201),
        ("?", "", 201),
    ],
)
def test_the_query_belongs_to_the_request_of_a_key(first, second, status, api):
    created = post(api, f"outbound_groups{first}", {"name": "Sales"})

    response = post(api, f"outbound_groups{second}", {"name": "Sales"})

    assert (created.status_code, response.status_code) == (201, status)
    assert error_code(response) == ErrorCode.KEY_REUSED.number if status == 409 else response.json() == created.json()
    assert CampaignGroup.objects.count() == 1


def test_without_a_key_a_repeated_write_is_two(api):
    assert api.post("/api/outbounds", NEW_CAMPAIGN).json() != api.post("/api/outbounds", NEW_CAMPAIGN).json()


def test_a_key_belongs_to_one_user_method_and_path(api, api_client):
    other = api_client("*", login="other")
    codes = [
        post(client, path, NEW_CAMPAIGN).json()["id"]
        for client, path in ((api, "outbounds"), (other, "outbounds"), (api, "outbounds/00001/clone"))
    ]

    assert codes == ["00001", "00002", "00003"]
    assert post(api, "outbounds/", NEW_CAMPAIGN).json()["id"] == "00001"


def test_a_get_with_a_key_is_a_get(api):
    for _ in range(2):
        response = api.get("/api/outbounds", headers={"idempotency-key": "a-key"})
        assert response.status_code == 200
        assert "Idempotent-Replayed" not in response


@pytest.mark.parametrize(
    ("path", "body", "status", "make"),
    [
        ("outbounds/DEMO1/add_agents", {"logins": ["anna"]}, 400, lambda: AgentFactory(login="anna")),
        ("outbounds/DEMO2/records", {"phone_number": "+48221234567"}, 404, lambda: CampaignFactory(code="DEMO2")),
    ],
)
def test_a_400_and_a_404_are_kept_even_if_they_would_succeed_now(path, body, status, make, api):
    CampaignFactory(code="DEMO1")
    first = post(api, path, body)
    make()

    second = post(api, path, body)

    assert first.status_code == second.status_code == status
    assert first.json()["errors"] == second.json()["errors"]
    assert second["Idempotent-Replayed"] == "true"
    assert [answer.json()["request_id"] == answer["X-Request-Id"] for answer in (first, second)] == [True, True]


def test_a_401_a_403_and_a_415_are_not_kept(api_client):
    client = api_client("agents:read", login="robot")
    path, headers, group = "/api/outbound_groups", {"idempotency-key": "a-key"}, b'{"name":"Sales"}'

    wrong = post(ApiClient("robot", "wrong"), "outbound_groups", {"name": "Sales"}).status_code
    forbidden = post(client, "outbound_groups", {"name": "Sales"}).status_code
    ApiUser.objects.get(login="robot").edit(ACTOR, rights=["*"])
    sent = [
        client.generic("POST", path, group, content_type=kind, headers=headers).status_code
        for kind in ("text/plain", "application/json")
    ]

    assert [wrong, forbidden, *sent] == [401, 403, 415, 201]


@pytest.mark.parametrize(("error", "status"), [(Conflict(ErrorCode.RECORD_BUSY), 409), (RuntimeError("x"), 500)])
def test_a_temporary_failure_is_not_kept_and_its_work_is_undone(error, status, api, monkeypatch):
    def fail(*args, **kwargs):
        create_group(*args, **kwargs)
        raise error

    api.raise_request_exception = False
    with monkeypatch.context() as patch:
        patch.setattr("campaigns.api.views.create_group", fail)
        assert post(api, "outbound_groups", {"name": "Sales"}).status_code == status
    assert not CampaignGroup.objects.exists()
    assert not IdempotencyRecord.objects.exists()

    response = post(api, "outbound_groups", {"name": "Sales"})

    assert response.status_code == 201
    assert "Idempotent-Replayed" not in response


@pytest.mark.parametrize(
    ("key", "status"),
    [
        *(("k" * length, 201 if 0 < length < 256 else 400) for length in (0, 255, 256, 10_000)),
        *((key, 201) for key in ("ż", "\0", " ", "a b", "'; DROP TABLE --", "\xff")),
    ],
)
def test_any_text_of_255_characters_at_most_may_be_a_key(key, status, api):
    assert [post(api, "outbound_groups", {"name": "Sales"}, key).status_code for _ in range(2)] == [status, status]


def test_the_answer_is_stored_encrypted_and_the_key_not_at_all(api):
    post(api, "outbound_groups", {"name": "Sales"}, "my-secret-key")

    record = IdempotencyRecord.objects.get()
    with connection.cursor() as cursor:
        cursor.execute("SELECT convert_from(answer, 'LATIN1') || fingerprint FROM callcentre_idempotencyrecord")
        stored = cursor.fetchone()[0]
    assert "Sales" not in stored
    assert "my-secret-key" not in stored
    assert b'"Sales"' in decrypt(bytes(record.answer))


def test_answers_are_forgotten_after_24_hours_and_not_before(settings):
    old, young = IdempotencyRecordFactory.create_batch(2)
    IdempotencyRecord.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(hours=24, seconds=1))
    IdempotencyRecord.objects.filter(pk=young.pk).update(created_at=timezone.now() - timedelta(hours=23, minutes=59))

    prune_idempotency()

    assert list(IdempotencyRecord.objects.all()) == [young]
    assert prune_idempotency.name in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}


def test_simultaneous_requests_with_one_key_run_once(servers, credential):
    def call(server):
        return lambda: server.request(
            "POST", "/api/outbounds", NEW_CAMPAIGN, auth=credential, Idempotency_Key="at-once"
        )

    answers = at_once([call(servers[n % 2]) for n in range(16)])

    assert {(answer.status, answer.content) for answer in answers} == {(201, answers[0].content)}
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert Campaign.objects.count() == 1


@pytest.fixture
def committed_api(committed_db):
    _, secret = ApiUser.create(SYSTEM, "all", rights=["*"])
    return ApiClient("all", secret)


def test_waiting_too_long_for_the_first_request_is_409(committed_api, monkeypatch, settings):
    assert settings.IDEMPOTENCY_WAIT_SECONDS == 10
    settings.IDEMPOTENCY_WAIT_SECONDS = 1
    is_working, may_end = threading.Event(), threading.Event()

    def work(*args, **kwargs):
        is_working.set()
        assert may_end.wait(60)
        return create_group(*args, **kwargs)

    monkeypatch.setattr("campaigns.api.views.create_group", work)

    def first():
        return post(committed_api, "outbound_groups", {"name": "Sales"})

    def second():
        assert is_working.wait(60)
        try:
            return post(committed_api, "outbound_groups", {"name": "Sales"})
        finally:
            may_end.set()

    done, refused = at_once([first, second])

    assert done.status_code == 201
    assert refused.status_code == 409
    assert error_code(refused) == ErrorCode.KEY_BUSY.number


def test_a_waiting_request_runs_if_the_first_fails(committed_api, monkeypatch):
    is_working = threading.Event()

    def fail_once(*args, **kwargs):
        if is_working.is_set():
            return create_group(*args, **kwargs)
        is_working.set()
        raise Conflict(ErrorCode.CONFLICT)

    monkeypatch.setattr("campaigns.api.views.create_group", fail_once)

    def call():
        return post(committed_api, "outbound_groups", {"name": "Sales"})

    answers = at_once([call, call])

    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert CampaignGroup.objects.count() == 1


def test_a_database_that_goes_away_in_the_middle_leaves_neither_work_nor_key(committed_api, monkeypatch):
    def work_and_lose_the_connection(*args, **kwargs):
        group = create_group(*args, **kwargs)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return group

    committed_api.raise_request_exception = False
    with monkeypatch.context() as patch:
        patch.setattr("campaigns.api.views.create_group", work_and_lose_the_connection)
        assert post(committed_api, "outbound_groups", {"name": "Sales"}).status_code == 503
    connection.close()
    assert not CampaignGroup.objects.exists()
    assert not IdempotencyRecord.objects.exists()

    assert post(committed_api, "outbound_groups", {"name": "Sales"}).status_code == 201


def test_a_process_that_dies_after_the_work_leaves_neither_work_nor_key(committed_api, monkeypatch):
    def work_and_die(*args, **kwargs):
        create_group(*args, **kwargs)
        os._exit(9)

    connection.close()
    child = os.fork()
    if child == 0:
        try:
            monkeypatch.setattr("campaigns.api.views.create_group", work_and_die)
            post(committed_api, "outbound_groups", {"name": "Sales"})
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not CampaignGroup.objects.exists()
    assert not IdempotencyRecord.objects.exists()

    response = post(committed_api, "outbound_groups", {"name": "Sales"})

    assert response.status_code == 201
    assert "Idempotent-Replayed" not in response
