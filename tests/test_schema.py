"""The OpenAPI document: complete, without warnings, and equal to the answers of the service."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.utils import timezone

from callcentre.core.errors import ErrorCode
from knowledgebase.models import Article
from telephony.models import Agent, Connection, Supervision
from telephony.verbs import presence
from tests.callcentre.factories import DeletionFactory, PersonExportFactory
from tests.campaigns.factories import AttemptFactory, DoNotCallFactory, RecordOfferFactory, RecordStatusFactory
from tests.conftest import ACTOR, kept_for_all
from tests.documented import document, faults, media_of, operations, resolved
from tests.telephony.factories import (
    AgentFactory,
    AgentLineFactory,
    CallBackFactory,
    ConnectionFactory,
    ConnectionTopicFactory,
    PauseFactory,
    QueueFactory,
    SupervisionFactory,
    TopicFactory,
    TopicFieldFactory,
    TranscriptionFactory,
    with_phone,
)
from tests.tickets.factories import ChatFactory, CustomerFactory, CustomFieldFactory, MacroFactory, TicketFactory
from tests.webhooks.factories import EventFactory, WebhookFactory
from tickets.models import StoredFile

pytestmark = pytest.mark.usefixtures("plain_static")

# Routes under /api that are no operations: the documents, and the answer to unknown paths.
NO_OPERATIONS = {"SchemaView", "DocsView", "UnknownPath"}

# Values of parameters that operations need.
NEEDED = {
    "agent_logins[]": "agent1",
    "date_from": "2026-11-02",
    "date_to": "2026-11-03",
    "filename": "a.pdf",
    "query": "order",
    "sip": "109",
}


def bodies(operation: Any) -> Iterator[tuple[str, Any]]:
    """Yield (description, media type object) of the request and of each answer with a body."""
    if "requestBody" in operation:
        yield "request", media_of(operation["requestBody"])[1]
    for status, response in operation["responses"].items():
        for media in resolved(response).get("content", {}).values():
            yield status, media


@pytest.fixture(scope="module")
def demonstration(django_db_setup, django_db_blocker):
    with kept_for_all(django_db_blocker, demonstrate):
        yield


def demonstrate() -> None:
    from callcentre.demonstration import articles, campaigns, switchboard, tickets

    keep_small_ids_free()
    for part in (switchboard, tickets, campaigns, articles):
        part.seed()
    EventFactory()
    WebhookFactory()
    # The objects that the examples of the document name.
    PauseFactory(pk=2)
    presence.log_in(Agent.objects.get(login="agent1"), ACTOR)
    Agent.objects.filter(login="agent1").update(has_line=True)
    AgentLineFactory(agent=Agent.objects.get(login="agent1"), state="up")
    queue = QueueFactory(pk=88_001)
    call = ConnectionFactory(pk=341, created_at=datetime.fromtimestamp(1416225570, UTC), queue=queue)
    topic = TopicFactory(pk=5, group__queue=queue, show_custom_fields=True)
    TopicFieldFactory(pk=3, queue=queue)
    ConnectionTopicFactory(connection=call, topic=topic)
    TranscriptionFactory(connection=call, finished=True)
    AgentFactory(login="supervisor1", number="109")
    QueueFactory(pk=3)
    CustomFieldFactory(owner="customer", name="loyalty")
    CustomerFactory(pk=77)
    TicketFactory(pk=5012)
    MacroFactory(pk=1)
    # As autovacuum does with rows that are committed: without statistics a plan may take minutes.
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def keep_small_ids_free() -> None:
    """Move every sequence past the ids in the examples: other tests may have left one just before such an id."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setval(format('%I.%I', schemaname, sequencename)::regclass,"
            " greatest(coalesce(last_value, 0), 100000)) FROM pg_sequences WHERE schemaname = 'public'"
        )


_NEW: dict[str, Any] = {
    "/api/callbacks/": CallBackFactory,
    "/api/chats/": ChatFactory,
    "/api/do_not_call/": DoNotCallFactory,
    "/api/personal_data/exports/": lambda: PersonExportFactory(
        state="finished", next_attempt_at=None, file=default_storage.save("x.zip", ContentFile(b"PK"))
    ),
    "/api/personal_data/erasures/": partial(DeletionFactory, kind="person", state="asked", next_attempt_at=None),
}


def id_for(path: str) -> str:
    """Return the `id` of an existing object; a new one where operations remove it, or need it in a certain state."""
    if path.startswith("/api/webhooks/{id}"):
        return str(WebhookFactory().pk)
    if path.endswith(("/hangup", "/hold", "/resume", "/transfer")):
        return str(ConnectionFactory(talking=True, is_on_hold=path.endswith("/resume")))
    if "/consultation" in path:
        # The first operation asks for a consultation, and the second ends it.
        is_asked = not path.endswith("/consultation")
        known = None if is_asked else Connection.objects.filter(pk=99_005).first()
        return str(known or with_phone(is_consulting=is_asked, pk=None if is_asked else 99_005))
    if path.endswith(("/monitor", "/take_over")):
        Supervision.objects.update(ended_at=timezone.now())
        return str(SupervisionFactory(agent=Agent.objects.get(number="109")).connection)
    for begin, factory in _NEW.items():
        if path.startswith(begin):
            return str(factory().pk)
    if path.endswith("/result"):
        attempt = AttemptFactory(record__campaign__fields=["city"])
        RecordStatusFactory(pk=14, campaign=attempt.campaign, system_status="CALL_NO_SOONER_THAN")
        return str(Connection.objects.get(pk=attempt.connection_id))
    if path.endswith(("/preview/accept", "/preview/skip")):
        agent = Agent.objects.get(login="agent1")
        presence.log_in(agent, ACTOR)  # other operations have logged the agent out
        RecordOfferFactory(record__campaign__is_dialling=True, agent=agent)
    ids = {"connections": "1416225570.341", "queues": "88001", "tickets": "5012", "customers": "77"}
    return ids.get(path.split("/")[2], "DEMO1")


def names() -> dict[str, str]:
    """Return other parameters of paths: a published article, an attachment, an agent …"""
    article = Article.objects.published().first()
    return {
        "articleId": str(article.pk),
        "catalogId": str(article.catalog_id),
        "token": StoredFile.objects.latest("id").token,
        "login": "agent1",
        "phone_number": "+48 22 555 0001",
        "identifier": "DEMO-0001",
    }


# The document


def routed(patterns: list[Any]) -> Iterator[tuple[type, str]]:
    """Return (view, action) of every route; of a route without actions, the view alone."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routed(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            callback: Any = pattern.callback
            for action in set(getattr(callback, "actions", {"": ""}).values()):
                yield callback.cls, action


def test_the_document_has_exactly_the_operations_of_the_routes():
    api = next(pattern for pattern in get_resolver().url_patterns if str(pattern.pattern) == "^api/")
    wanted = {(view, action) for view, action in routed([api]) if view.__name__ not in NO_OPERATIONS}

    documented = []
    for path, method, operation in operations():
        for parameter in operation["parameters"]:
            if parameter.get("in") == "path":
                path = path.replace(f"{{{parameter['name']}}}", parameter["schema"]["example"])
        callback: Any = resolve(path).func
        documented.append((callback.cls, callback.actions[method]))

    assert sorted(map(str, documented)) == sorted(map(str, wanted))


def wrong_in(path: str, method: str, operation: Any) -> Iterator[Any]:
    """Yield what the document says wrongly of an operation, or not at all."""
    named = [(parameter["in"], parameter["name"]) for parameter in map(resolved, operation["parameters"])]
    in_path = {name for place, name in named if place == "path"}
    if len(named) != len(set(named)) or in_path != set(re.findall(r"{(\w+)}", path)):
        yield "parameters are unique and include those of the path", named
    if (
        operation["security"] != [{"basic": []}]
        or (operation["x-right"] or "no right") not in operation["description"]
        or not {"401", "429"} <= operation["responses"].keys()
        or bool(operation["x-right"]) != ("403" in operation["responses"])
    ):
        yield "it says who may call it"
    if (method == "post") != ({"$ref": "#/components/parameters/Idempotency-Key"} in operation["parameters"]):
        yield "every POST takes a key"
    for what, media in bodies(operation):
        if media.get("example") is None or faults(media["example"], media["schema"]):
            yield "a body has an example that fits its schema", what
    for status, response in operation["responses"].items():
        described = resolved(response)
        if status >= "400" and not any(f"`{code.number}`" in described["description"] for code in ErrorCode):
            yield "a failure is documented with its codes", status
        if "X-Request-Id" not in described["headers"]:
            yield "an answer carries a request id", status


def test_every_operation_is_described_completely():
    described = {operation["operationId"]: (path, method, operation) for path, method, operation in operations()}

    assert len(described) == len(list(operations()))
    assert {name: found for name, each in described.items() if (found := list(wrong_in(*each)))} == {}
    # Faults of entries and of an order.
    said = {name: str(operation["responses"].get("400")) for name, (_, _, operation) in described.items()}
    assert all(f"`{code}`" in said[name] for name, code in {"edit_record": 100001, "list_tickets": 100011}.items())


def test_every_parameter_and_property_has_a_description():
    bare = [
        (operation["operationId"], parameter["name"])
        for _, _, operation in operations()
        for parameter in map(resolved, operation["parameters"])
        if not parameter["description"].strip()
    ]
    for name, schema in document()["components"]["schemas"].items():
        bare += [
            (name, key)
            for key, value in schema.get("properties", {}).items()
            if not resolved(value).get("description", "").strip()
        ]

    assert bare == []


def test_the_description_lists_every_error_code():
    description = document()["info"]["description"]

    assert [code for code in ErrorCode if f"| {code.number} | `{code.name}` |" not in description] == []


def test_operations_beyond_the_interface_are_marked():
    ours = {operation["operationId"] for _, _, operation in operations() if operation.get("x-extension")}

    assert {"ping", "read_campaign", "list_records", "create_records", "list_agents"} <= ours
    assert not ours & {"create_campaign", "clone_campaign", "create_record", "read_record", "edit_records"}


def query_of(operation: Any) -> str:
    """Return a query with all parameters of the operation, and a misspelt one."""
    query = {"agent_logn": "agent1", "status[x]\r\n": "", "limit[]": "1"}
    for parameter in map(resolved, operation["parameters"]):
        if parameter["in"] == "query":
            name = parameter["name"]
            spelled = f"{name}[colour][0]" if parameter.get("style") == "deepObject" else name
            query[spelled] = NEEDED.get(name, "true" if name.startswith("include") else "")
    return urlencode(query)


IGNORED = "agent_logn, status[x]%0D%0A, limit[]"


@pytest.mark.slow("makes the document of the API")
def test_answers_of_reads_fit_their_schemas_and_name_ignored_parameters(api, demonstration):
    wrong: list[str] = []
    for path, method, operation in operations():
        if method != "get":
            continue
        response = api.get(f"{path.format(id=id_for(path), **names())}?{query_of(operation)}")
        if response.get("Ignored-Parameters") != IGNORED:
            wrong.append(f"{path}: {response.status_code} {response.headers}")
        documented = resolved(operation["responses"][str(response.status_code)])
        if "application/json" in documented.get("content", {}):
            _, media = media_of(documented)
            wrong += faults(response.json(), media["schema"])

    assert wrong == []


@pytest.mark.slow("sends every example of the document")
@pytest.mark.usefixtures("switch_that_answers")
def test_examples_of_requests_are_accepted_and_answered_as_documented(api, demonstration):
    wrong: list[Any] = []
    for path, method, operation in operations():
        if method == "get":
            continue
        path = f"{path.format(id=id_for(path), **names())}?{query_of(operation)}"
        if "requestBody" in operation:
            content_type, media = media_of(operation["requestBody"])
            response = getattr(api, method)(path, media["example"], content_type=content_type)
        else:
            response = getattr(api, method)(path)
        is_right = str(response.status_code) in operation["responses"] and response.status_code < 300
        if not is_right or response.get("Ignored-Parameters") != IGNORED:
            wrong.append((operation["operationId"], response.status_code, response.content))
        elif response.content:
            _, media = media_of(operation["responses"][str(response.status_code)])
            wrong += faults(response.json(), media["schema"])

    assert wrong == []


def test_failures_fit_their_schema(api, anonymous):
    schema = {"$ref": "#/components/schemas/Error"}
    failures = [
        anonymous.get("/api/ping"),
        api.get("/api/outbounds/zzzzz"),
        api.post("/api/outbounds", {"order": 0}),
        api.delete("/api/outbounds"),
        api.post("/api/outbounds", "<a/>", content_type="text/xml"),
    ]

    assert [response.status_code for response in failures] == [401, 404, 400, 405, 415]
    assert [faults(response.json(), schema) for response in failures] == [[]] * 5
