"""The operation table: one row for every operation of the API, and a test that no route is missing from it.

A row says who may call it, what it answers to the letter, and how many statements it costs, the same for one object
as for fifty. What only one operation does is tested beside its app.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.utils import timezone

from callcentre.models import ApiUser
from telephony.models import Agent
from tests.campaigns.factories import (
    AdditionalNumberFactory,
    CampaignFactory,
    CampaignGroupFactory,
    DictionaryStatusFactory,
    RecordFactory,
)
from tests.conftest import ACTOR, ApiClient
from tests.knowledgebase.factories import ArticleFactory, CatalogFactory, CategoryFactory
from tests.telephony.factories import (
    AgentFactory,
    AgentGroupFactory,
    ConnectionFactory,
    ConnectionTopicFactory,
    PauseFactory,
    QueueFactory,
    TopicFactory,
    TopicFieldFactory,
    TranscriptionFactory,
    TransferShortcutFactory,
)
from tests.webhooks.factories import EventFactory, WebhookFactory

pytestmark = pytest.mark.django_db

JSON = "application/json; charset=utf-8"


class Each:
    """An object whose values all look alike: {name: shape}."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


# Shapes: a type; a set of them, for one or the other; a dict for exactly these keys; [shape] for an array of at least
# one; Each; None for an empty answer.
INTEGER_OR_NULL = frozenset({int, type(None)})
CAMPAIGN = {
    "id": str,
    "outbound_id": str,
    "name": str,
    "dialer": str,
    "crm": bool,
    "active": bool,
    "start_date": str,
    "end_date": str,
    "order": int,
    "parity": int,
    "parameters": {"caller_id": str, "preview_timeout": int},
    "group_id": INTEGER_OR_NULL,
    "fields": [str],
}
RECORD = {
    "record_id": int,
    "phone_number": str,
    "system_status": str,
    "status": str,
    "status_id": int,
    "call_date": str,
    "create_date": str,
    "next_call_date": str,
    "agent_name": str,
    "agent_login": str,
    "last_note": str,
    "identifier": str,
    "order": frozenset({str, int}),
}
FIELDS = {"record_fields": {"city": str}}
AGENT = {
    "agent_id": int,
    "login": str,
    "name": str,
    "surname": str,
    "email": str,
    "active": bool,
    "number": str,
    "outbound_mode": bool,
    "group_id": INTEGER_OR_NULL,
}
GROUP = {"id": int, "name": str}
WEBHOOK = {
    "id": int,
    "actions": [str],
    "subscription_url": str,
    "http_auth_user": str,
    "http_auth_password": str,
}
FIELD_VALUE = {"field_id": int, "value": str}
TOPIC = {"topic_id": int, "agent_login": str, "comment": str, "custom_fields": [FIELD_VALUE]}
QUEUE_TOPICS = {
    "topic_groups": [{"group_name": str, "topics": [{"id": int, "name": str, "show_custom_fields": bool}]}],
    "custom_fields": [{"id": int, "name": str, "type": str, "require": bool}],
}
NUMBER = frozenset({int, float})
TRANSCRIPTION = {
    "status": str,
    "parts": [{"begin": NUMBER, "end": NUMBER, "speaker": str, "text": str}],
    "summary": [{"content": str, "important": bool}],
    "sentiment": {"sentiment": str, "justification": str},
    "evaluatedCriteria": [{"criteriaId": str, "fulfilled": bool}],
    "talkListenSilenceRatio": {"talk": NUMBER, "listen": NUMBER, "silence": NUMBER},
}
SHORTCUT = {"transfer_shortcut_id": int, "queue": str, "number": str, "icon": str, "name": str}
CATALOG_SHAPE = {"id": str, "name": str, "language": str, "categories": [GROUP | {"id": str}]}
CATEGORY_OF_ARTICLE = {"category_id": str, "category_name": str}
ARTICLE_SHAPE = CATEGORY_OF_ARTICLE | {
    "id": str,
    "title": str,
    "content": str,
    "catalog_id": str,
    "feedback": {"positive": int, "negative": int},
    "user_login": str,
    "created_at": str,
    "updated_at": str,
}
HIT = CATEGORY_OF_ARTICLE | {"id": str, "title": str, "highlight": str}
PAYLOAD_VALUE = frozenset({str, int, type(None)})
CONNECTION = {
    "date": str,
    "src": str,
    "dst": str,
    "disposition": str,
    "duration": int,
    "billsec": int,
    "user_login": str,
    "connection_id": str,
    "type": str,
    "queue_id": INTEGER_OR_NULL,
    "topic_id": INTEGER_OR_NULL,
    "customer_id": INTEGER_OR_NULL,
    "filename": str,
    "transcription_status": str,
}
CALLER = {"phone_number": str, "started_at": str, "customer_id": INTEGER_OR_NULL, "customer_label": str}
EVENT = {"id": int, "event_id": str, "action": str, "date": str, "payload": Each(PAYLOAD_VALUE)}


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    right: str
    status: int
    answer: Any
    # Statements, that of authentication included.
    queries: int
    body: Any = None
    # The same operation of an object that does not exist.
    unknown: str = ""
    is_extension: bool = field(default=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"

    def call(self, client: ApiClient, path: str = "") -> Any:
        return client.generic(
            self.method, f"/api{path or self.path}", "" if self.body is None else _json(self.body), "application/json"
        )


def _json(body: Any) -> bytes:
    from callcentre.api.renderers import to_json

    return to_json(body)


def ours(*args: Any, **kwargs: Any) -> Operation:
    """An operation beyond the interface."""
    return Operation(*args, is_extension=True, **kwargs)


READ, WRITE, AGENTS = "campaigns:read", "campaigns:write", "agents:read"
AGENTS_WRITE = "agents:write"
CONNECTIONS = "connections:read"
WEBHOOKS, WEBHOOKS_WRITE = "webhooks:read", "webhooks:write"
KNOWLEDGE = "knowledge_base:read"
CATALOG, ARTICLE = "0d9c6a52-5f0b-4a4c-8b1c-6a2f3f1c7e90", "6f0b2c1e-8a55-4b1e-9a58-0f6c2f4f0c11"
NO_CATALOG, NO_ARTICLE = f"/knowledge_base/catalogs/{ARTICLE}", f"/knowledge_base/articles/{CATALOG}"
# A literal address: nobody is asked for a name.
NEW_WEBHOOK = {"actions": ["OUTBOUND_CREATED"], "subscription_url": "https://[2606:4700::1111]/hook"}
NEW_CAMPAIGN = {"name": "New", "dialer": "preview", "crm": False}
EDITS = {"records": [{"phone_number": f"+48 22 100 {n:04}", "next_call_date": "2030-01-01 10:00"} for n in range(1, 3)]}
ADDITIONS = {"records": [{"phone_number": "+48 22 200 00 01"}, {"phone_number": "+48 22 200 00 02"}]}
NEW_TOPIC = {
    "connection_id": "1416225570.99001",
    "topic_id": 88_002,
    "custom_fields": [{"field_id": 88_003, "value": "FV/1"}],
    "agent_login": "free",
}

# An agent and a number; a call that is going on, and one on hold.
NEW_CALL = {"sip": "101", "phone_number": "+48 22 555 01 07"}
TALKING, HELD = "/connections/1416225570.99002", "/connections/1416225570.99003"

OPERATIONS = [
    # INTERFACE 4.1
    Operation("POST", "/outbounds", WRITE, 201, {"id": str, "outbound_id": str}, 7, NEW_CAMPAIGN),
    Operation(
        "POST", "/outbounds/WORLD/clone", WRITE, 201, {"id": str}, 12, {"name": "Copy"}, "/outbounds/XXXXX/clone"
    ),
    Operation(
        "POST", "/outbounds/WORLD/add_agents", WRITE, 204, None, 5, {"logins": ["free"]}, "/outbounds/XXXXX/add_agents"
    ),
    Operation("POST", "/outbound_groups", WRITE, 201, GROUP, 3, {"name": "New"}),
    # INTERFACE 4.2
    Operation(
        "POST",
        "/outbounds/WORLD/records",
        WRITE,
        201,
        {"record_id": str},
        4,
        {"phone_number": "+48 22 300 00 01"},
        "/outbounds/XXXXX/records",
    ),
    Operation(
        "PUT",
        "/batch/outbounds/WORLD/records",
        WRITE,
        207,
        Each({"http_status": int}),
        6,
        EDITS,
        "/batch/outbounds/XXXXX/records",
    ),
    Operation(
        "GET",
        "/outbounds/WORLD/records/+48221000001?include_record_fields=true",
        READ,
        200,
        RECORD | FIELDS,
        2,
        None,
        "/outbounds/WORLD/records/+48229999999",
    ),
    Operation(
        "GET",
        "/outbounds/WORLD/records_by_identifier/ID-1",
        READ,
        200,
        RECORD,
        2,
        None,
        "/outbounds/WORLD/records_by_identifier/ID-X",
    ),
    # INTERFACE 4.3
    Operation("POST", "/agents/free/pause", AGENTS_WRITE, 204, None, 7, {"pause_id": 66_001}, "/agents/nobody/pause"),
    # INTERFACE 4.3: topics, transcriptions, transfer shortcuts
    Operation("GET", "/connections/1416225570.99001/topic", CONNECTIONS, 200, TOPIC, 3, None, "/connections/1.1/topic"),
    Operation(
        "GET",
        "/connections/1416225570.99001/transcription"
        "?includeSummary=true&includeSentiment=true&includeEvaluatedCriteria=true&includeTalkListenSilenceRatio=true",
        CONNECTIONS,
        200,
        TRANSCRIPTION,
        3,
        None,
        "/connections/1.1/transcription",
    ),
    Operation("GET", "/queues/88001/topics", CONNECTIONS, 200, QUEUE_TOPICS, 5, None, "/queues/999999999/topics"),
    Operation("GET", "/system/transfer_shortcuts", "system:read", 200, [SHORTCUT], 2),
    Operation("POST", "/connections/call", "connections:write", 204, None, 4, NEW_CALL),
    # INTERFACE 4.5
    Operation("GET", f"/knowledge_base/articles/{ARTICLE}", KNOWLEDGE, 200, ARTICLE_SHAPE, 2, None, NO_ARTICLE),
    Operation(
        "GET",
        f"/knowledge_base/catalogs/{CATALOG}/search?query=article",
        KNOWLEDGE,
        200,
        {"articles": [HIT]},
        2,
        None,
        f"{NO_CATALOG}/search",
    ),
    # INTERFACE 4.6
    Operation("POST", "/webhooks", WEBHOOKS_WRITE, 201, WEBHOOK, 3, NEW_WEBHOOK),
    Operation("GET", "/webhooks", WEBHOOKS, 200, [WEBHOOK], 2),
    Operation("DELETE", "/webhooks/77001", WEBHOOKS_WRITE, 204, None, 4, None, "/webhooks/999999999"),
    # DECISIONS 9: knowledge base
    ours("GET", "/knowledge_base/catalogs", KNOWLEDGE, 200, [CATALOG_SHAPE], 3),
    ours(
        "GET",
        f"/knowledge_base/catalogs/{CATALOG}/articles",
        KNOWLEDGE,
        200,
        {"count": int, "result": [ARTICLE_SHAPE]},
        5,
        None,
        f"{NO_CATALOG}/articles",
    ),
    ours(
        "POST",
        f"/knowledge_base/articles/{ARTICLE}/feedback",
        "knowledge_base:write",
        201,
        {"positive": int, "negative": int},
        6,
        {"positive": True},
        f"{NO_ARTICLE}/feedback",
    ),
    # DECISIONS 9: webhooks
    ours(
        "GET",
        "/webhooks/77001/secret",
        WEBHOOKS,
        200,
        {"id": int, "secret": str},
        4,
        None,
        "/webhooks/999999999/secret",
    ),
    ours(
        "GET",
        "/webhooks/77001",
        WEBHOOKS,
        200,
        WEBHOOK | {"format": str, "active": bool, "disabled_because": str},
        2,
        None,
        "/webhooks/999999999",
    ),
    ours("POST", "/webhooks/77001/enable", WEBHOOKS_WRITE, 204, None, 4, None, "/webhooks/999999999/enable"),
    ours("POST", "/webhooks/77001/disable", WEBHOOKS_WRITE, 204, None, 4, None, "/webhooks/999999999/disable"),
    ours("POST", "/webhooks/77001/test", WEBHOOKS_WRITE, 204, None, 5, None, "/webhooks/999999999/test"),
    ours("GET", "/webhooks/actions", WEBHOOKS, 200, [{"action": str, "example": Each(PAYLOAD_VALUE)}], 1),
    ours("GET", "/events", WEBHOOKS, 200, {"count": int, "result": [EVENT]}, 4),
    # DECISIONS 9: campaigns
    ours("GET", "/ping", "", 204, None, 1),
    ours("GET", "/outbounds", READ, 200, [CAMPAIGN], 3),
    ours("GET", "/outbounds/WORLD", READ, 200, CAMPAIGN, 3, None, "/outbounds/XXXXX"),
    ours("PUT", "/outbounds/WORLD", WRITE, 204, None, 6, {"name": "Renamed"}, "/outbounds/XXXXX"),
    ours("GET", "/outbounds/WORLD/agents", READ, 200, [AGENT], 4, None, "/outbounds/XXXXX/agents"),
    ours(
        "POST",
        "/outbounds/WORLD/remove_agents",
        WRITE,
        204,
        None,
        5,
        {"logins": ["free"]},
        "/outbounds/XXXXX/remove_agents",
    ),
    ours(
        "GET",
        "/outbounds/WORLD/statuses",
        READ,
        200,
        [{"status_id": int, "name": str, "system_status": str, "dictionary_status_id": INTEGER_OR_NULL}],
        4,
        None,
        "/outbounds/XXXXX/statuses",
    ),
    ours(
        "GET",
        "/outbounds/WORLD/stats",
        READ,
        200,
        {"id": str, "records_count": int, "completion_percent": frozenset({int, float}), "by_system_status": Each(int)},
        4,
        None,
        "/outbounds/XXXXX/stats",
    ),
    ours(
        "GET",
        "/outbounds/WORLD/records",
        READ,
        200,
        {"count": int, "result": [RECORD | FIELDS | {"customer_id": INTEGER_OR_NULL, "additional_numbers": [str]}]},
        5,
        None,
        "/outbounds/XXXXX/records",
    ),
    ours(
        "PUT",
        "/outbounds/WORLD/records/+48221000001",
        WRITE,
        204,
        None,
        6,
        {"next_call_date": "2030-01-01 10:00"},
        "/outbounds/WORLD/records/+48229999999",
    ),
    ours(
        "POST",
        "/batch/outbounds/WORLD/records",
        WRITE,
        201,
        Each({"status": str, "record_id": str}),
        4,
        ADDITIONS,
        "/batch/outbounds/XXXXX/records",
    ),
    ours("GET", "/outbound_groups", READ, 200, [GROUP], 2),
    # DECISIONS 9: agents
    ours("GET", "/agents", AGENTS, 200, [AGENT], 2),
    ours("GET", "/agents/free", AGENTS, 200, AGENT, 2, None, "/agents/nobody"),
    ours("GET", "/agents_groups", AGENTS, 200, [GROUP], 2),
    ours(
        "GET",
        "/agents_statuses",
        AGENTS,
        200,
        [{"login": str, "status": str, "since": str, "pause_id": INTEGER_OR_NULL}],
        3,
    ),
    ours("POST", "/agents/free/login", AGENTS_WRITE, 204, None, 9, None, "/agents/nobody/login"),
    ours("POST", "/agents/working/logout", AGENTS_WRITE, 204, None, 7, None, "/agents/nobody/logout"),
    ours("POST", "/agents/working/free", AGENTS_WRITE, 204, None, 7, None, "/agents/nobody/free"),
    ours("GET", "/system/pauses", "system:read", 200, [{"id": int, "name": str, "active": bool}], 2),
    # DECISIONS 4
    ours("POST", f"{TALKING}/hangup", "connections:write", 204, None, 3, None, "/connections/1.1/hangup"),
    ours("POST", f"{TALKING}/hold", "connections:write", 204, None, 3, None, "/connections/1.1/hold"),
    ours("POST", f"{HELD}/resume", "connections:write", 204, None, 3, None, "/connections/1.1/resume"),
    ours(
        "POST",
        f"{TALKING}/transfer",
        "connections:write",
        204,
        None,
        4,
        {"queue_id": 88_001},
        "/connections/1.1/transfer",
    ),
    ours("POST", "/connections/topic", "connections:write", 204, None, 8, NEW_TOPIC),
    # DECISIONS 9: connections and queues
    ours("GET", "/connections", CONNECTIONS, 200, {"count": int, "result": [CONNECTION]}, 3),
    ours("GET", "/queues", CONNECTIONS, 200, [GROUP], 2),
    ours(
        "GET",
        "/queues/88001/waiting_stats",
        CONNECTIONS,
        200,
        {"waiting": int, "estimated_waiting_time": INTEGER_OR_NULL},
        3,
        None,
        "/queues/999999999/waiting_stats",
    ),
    ours(
        "GET",
        "/queues/88001/waiting_list",
        CONNECTIONS,
        200,
        [CALLER],
        4,
        None,
        "/queues/999999999/waiting_list",
    ),
]

# Routes that are no operations, and why.
NO_OPERATIONS = {
    "schema": "the OpenAPI document, tested with the documents",
    "docs": "Swagger UI, tested with the documents",
    "unknown": "answers every path that nobody serves",
    "api": "the same for /api itself",
}

each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)
each_operation_of_an_object = pytest.mark.parametrize(
    "operation", [operation for operation in OPERATIONS if operation.unknown], ids=str
)


@pytest.fixture
def world(db: None) -> Callable[[int], None]:
    """Fills the database: a campaign WORLD with so many of everything that an answer may hold."""

    def fill(size: int) -> None:
        # Before anything is recorded: what a transaction has recorded is out of the feed until it ends.
        EventFactory.create_batch(size)
        agents = [*AgentFactory.create_batch(size, grouped=True), AgentFactory(login="free", number="101")]
        PauseFactory.create_batch(size)
        AgentFactory(login="working").log_in(ACTOR)
        Agent.objects.get(login="working").pause(ACTOR, PauseFactory(pk=66_001).pk)
        CampaignGroupFactory.create_batch(size)
        DictionaryStatusFactory.create_batch(size)
        AgentGroupFactory()
        settings = {"caller_id": "+48221000000", "preview_timeout": 30}
        campaign = CampaignFactory(code="WORLD", fields=["city"], **settings)
        for _ in range(1, size):
            CampaignFactory(fields=["city"], **settings)
        campaign.agents.set(agents[:-1])
        for n in range(1, size + 2):
            record = RecordFactory(
                campaign=campaign, phone_number=f"+48 22 100 {n:04}", identifier=f"ID-{n}", agent=agents[0]
            )
            AdditionalNumberFactory(record=record)
        queue = QueueFactory(pk=88_001, members=agents)
        ConnectionFactory.create_batch(size, waiting=True, queue=queue)
        long_ago = datetime.fromtimestamp(1416225570, UTC)
        call = ConnectionFactory(pk=99_001, created_at=long_ago, queue=queue)
        ConnectionFactory(pk=99_002, created_at=long_ago, talking=True)
        ConnectionFactory(pk=99_003, created_at=long_ago, talking=True, is_on_hold=True)
        topic = TopicFactory(pk=88_002, group__queue=queue, show_custom_fields=True)
        TopicFactory.create_batch(size, group=topic.group)
        TopicFieldFactory(pk=88_003, queue=queue)
        TopicFieldFactory.create_batch(size, queue=queue)
        ConnectionTopicFactory(connection=call, topic=topic, fields=[{"field_id": 88_003, "value": "FV/1"}])
        TranscriptionFactory(connection=call, finished=True)
        for _ in range(size):
            TransferShortcutFactory(queue=QueueFactory(), number="")
        WebhookFactory.create_batch(size, actions=["OUTBOUND_CREATED", "OUTBOUND_RECORD_CREATED"])
        WebhookFactory(pk=77_001)
        category = CategoryFactory(catalog=CatalogFactory(pk=CATALOG))
        CategoryFactory.create_batch(size - 1)
        ArticleFactory(pk=ARTICLE, category=category, written=True)
        ArticleFactory.create_batch(size - 1, category=category, written=True)

    return fill


def has_shape(value: Any, shape: Any) -> bool:
    if isinstance(shape, Each):
        return isinstance(value, dict) and bool(value) and all(has_shape(one, shape.shape) for one in value.values())
    if isinstance(shape, dict):
        return (
            isinstance(value, dict)
            and value.keys() == shape.keys()
            and all(has_shape(value[name], one) for name, one in shape.items())
        )
    if isinstance(shape, list):
        return isinstance(value, list) and bool(value) and all(has_shape(one, shape[0]) for one in value)
    return type(value) in (shape if isinstance(shape, frozenset) else {shape})


def routes(patterns: Iterable[URLPattern | URLResolver]) -> Iterable[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns)
        else:
            yield pattern


def api_routes() -> list[URLPattern]:
    roots = [pattern for pattern in get_resolver().url_patterns if str(pattern.pattern).startswith("^api")]
    return list(routes(roots))


def assert_is_error(response: Any, status: int) -> None:
    assert response.status_code == status, response.content
    assert response["Content-Type"] == JSON
    body = response.json()
    assert set(body) == {"request_id", "errors"}
    assert body["request_id"] == response["X-Request-Id"]
    assert body["errors"]
    for error in body["errors"]:
        assert {"message", "code"} <= set(error) <= {"message", "code", "field"}
        assert 100_000 <= error["code"] <= 999_999


def test_no_route_of_the_api_is_missing_from_the_table() -> None:
    served = {
        (method.upper(), route.name)
        for route in api_routes()
        for method in getattr(route.callback, "actions", {"any": ""})
        if route.name not in NO_OPERATIONS and method != "head"
    }
    assert served == {(operation.method, resolve(f"/api{_path(operation)}").url_name) for operation in OPERATIONS}


def _path(operation: Operation) -> str:
    return operation.path.partition("?")[0]


@each_operation
def test_an_operation_answers_what_the_interface_says_with_its_own_right_only(
    operation: Operation, world: Callable[[int], None], api_client: Callable[..., ApiClient]
) -> None:
    world(1)
    client = api_client(*([operation.right] if operation.right else []))

    response = operation.call(client)

    assert response.status_code == operation.status, response.content
    if operation.answer is None:
        assert response.content == b""
        assert "Content-Type" not in response
    else:
        assert response["Content-Type"] == JSON
        assert has_shape(response.json(), operation.answer), response.json()


@each_operation
@pytest.mark.parametrize("size", [1, 50])
def test_an_operation_costs_the_same_statements_for_one_object_and_for_fifty(
    operation: Operation, size: int, world: Callable[[int], None], api: ApiClient
) -> None:
    world(size)
    ApiUser.objects.update(last_used_at=timezone.now())

    with CaptureQueriesContext(connection) as captured:
        response = operation.call(api)

    assert response.status_code == operation.status
    # A savepoint stands in the test for the transaction that it is in service.
    statements = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
    assert len(statements) == operation.queries, "\n".join(statements)


@each_operation
def test_without_a_credential_everything_is_401_and_names_the_scheme(
    operation: Operation, anonymous: ApiClient
) -> None:
    response = operation.call(anonymous, operation.unknown)

    assert_is_error(response, 401)
    assert response["WWW-Authenticate"].startswith("Basic ")


@each_operation
def test_with_every_right_but_its_own_an_operation_is_403_even_for_unknown_ids(
    operation: Operation, api_client: Callable[..., ApiClient]
) -> None:
    from callcentre.models import AREAS

    if not operation.right:
        return
    others = {f"{area}:{access}" for area in AREAS for access in ("read", "write")} - {operation.right}
    client = api_client(*others)

    response = operation.call(client, operation.unknown)

    assert_is_error(response, 403)
    assert operation.right in response.json()["errors"][0]["message"]


@each_operation_of_an_object
def test_an_unknown_id_is_404_before_anything_in_the_request_is_400(
    operation: Operation, world: Callable[[int], None], api: ApiClient
) -> None:
    world(1)
    path = f"/api{operation.unknown}?include_record_fields=perhaps&search_in_additional_numbers=perhaps"

    empty = api.generic(operation.method, path, "{}", "application/json")
    broken = api.generic(operation.method, path, "{", "application/json")

    assert_is_error(empty, 404)
    assert_is_error(broken, 404)


@each_operation
def test_an_unknown_method_is_405_and_names_those_that_there_are(
    operation: Operation, api: ApiClient, anonymous: ApiClient
) -> None:
    assert_is_error(anonymous.generic("PATCH", f"/api{_path(operation)}"), 401)

    response = api.generic("PATCH", f"/api{_path(operation)}", "{}", "application/json")

    assert_is_error(response, 405)
    assert operation.method in response["Allow"].split(", ")
    assert "PATCH" not in response["Allow"]


@each_operation
def test_one_trailing_slash_is_tolerated_and_never_redirected(
    operation: Operation, world: Callable[[int], None], api: ApiClient
) -> None:
    world(1)
    path, mark, query = operation.path.partition("?")

    response = operation.call(api, f"{path}/{mark}{query}")

    assert response.status_code == operation.status


@each_operation
def test_no_answer_is_html_whatever_a_client_accepts(
    operation: Operation, world: Callable[[int], None], api: ApiClient
) -> None:
    world(1)
    api.defaults["HTTP_ACCEPT"] = "text/html"

    for path in (operation.path, operation.unknown or operation.path):
        response = operation.call(api, path)
        assert response.get("Content-Type", JSON) == JSON


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/outbound", "/api/outbounds//", "/api/admin/", "/api/x.html"])
def test_an_unknown_path_is_401_then_404_and_json(path: str, api: ApiClient, anonymous: ApiClient) -> None:
    assert_is_error(anonymous.get(path), 401)
    assert_is_error(api.get(path), 404)
    assert_is_error(api.post(path, {}), 404)
