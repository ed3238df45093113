"""The operation table: one row for every operation of the API, and a test that no route is missing.

A row (in `tests/<app>/contract.py`) has the needed right, the exact answer, and the usual number of statements,
which are as many for one object as for fifty. Details of single operations are tested beside their app.
"""

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.utils import timezone

import tests.campaigns.contract
import tests.knowledgebase.contract
import tests.reports.contract
import tests.telephony.contract
import tests.tickets.contract
import tests.webhooks.contract
from callcentre.core.actor import SYSTEM
from callcentre.core.errors import ErrorCode
from callcentre.models import AREAS, ApiUser
from tests import network_guard
from tests.conftest import ApiClient, kept_for_all
from tests.contract import JSON, Operation, has_shape, ours
from tests.statements import most

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("switch_that_answers")]

# In the order of filling: events before other rows, because rows of an open transaction are not in the feed; agents
# before their work.
APPS = (tests.webhooks, tests.telephony, tests.campaigns, tests.knowledgebase, tests.tickets, tests.reports)
OPERATIONS = [
    ours("GET", "/ping", "", 204, None, 1),
    *(operation for app in APPS for operation in app.contract.OPERATIONS),
]

# Routes that are no operations, with the reason.
NO_OPERATIONS = {
    "schema": "the OpenAPI document, tested with the documents",
    "docs": "Swagger UI, tested with the documents",
    "unknown": "answers every path that nobody serves",
    "api": "the same for /api itself",
}

each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)
of_an_object = [operation for operation in OPERATIONS if operation.unknown]
# What no object has as an id; the operations take turns.
ODD = ("0", "-1", "1.5", "x", "1e3", "٣", "²", "9" * 30, "9" * 400, "0d9c6a52", "%ED%A0%80")


@pytest.fixture(scope="module")
def world(listener, django_db_blocker):
    """One object of each kind."""
    with filled(django_db_blocker, 1):
        yield


def filled(blocker, count):
    """Keep this number of objects of each kind in the database."""
    return kept_for_all(blocker, lambda: [app.contract.fill(count) for app in APPS])


def statements_of(operation: Operation, client: ApiClient) -> list[str]:
    ApiUser.objects.update(last_used_at=timezone.now())
    with CaptureQueriesContext(connection) as captured:
        response = operation.call(client)
    assert response.status_code == operation.status, response.content
    # In the test a savepoint stands for the transaction of the service.
    return [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]


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


def test_no_route_of_the_api_is_missing_from_the_table():
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
def test_an_operation_answers_as_the_interface_says_and_needs_only_its_own_right(operation, world, api_client):
    client = api_client(*([operation.right] if operation.right else []))

    response = operation.call(client)

    assert response.status_code == operation.status, response.content
    assert response["Cache-Control"] == ("private, no-cache" if operation.answer is bytes else "no-store")
    if operation.answer is None:
        assert response.content == b""
        assert "Content-Type" not in response
        return
    assert response["Content-Type"] == operation.answer_type
    if operation.answer is bytes:
        assert b"".join(response.streaming_content)
    else:
        assert has_shape(response.json(), operation.answer), response.json()


@pytest.mark.slow("asks each operation for one object and for fifty")
def test_an_operation_costs_the_same_statements_for_one_object_and_for_fifty(django_db_blocker):
    statements_of_each(django_db_blocker, 1)  # fills the caches of the process
    of_one, of_fifty = (statements_of_each(django_db_blocker, count) for count in (1, 50))

    grown = {operation: each for operation, each in of_fifty.items() if len(each) != len(of_one[operation])}
    assert grown == {}
    assert {operation: each for operation, each in of_fifty.items() if len(each) > most(operation.queries)} == {}


def statements_of_each(blocker, count: int) -> dict[Operation, list[str]]:
    taken = {}
    with filled(blocker, count):
        for operation in OPERATIONS:
            with kept_for_all(blocker, lambda: None):
                _, secret = ApiUser.create(SYSTEM, "one", rights=["*"])
                taken[operation] = statements_of(operation, ApiClient("one", secret))
    return taken


@pytest.mark.parametrize("operation", [operation for operation in OPERATIONS if operation.method == "POST"], ids=str)
def test_a_post_with_a_key_runs_once_and_asks_no_network_in_its_transaction(operation, world, api):
    """The guard of all tests refuses the network: sockets, look-ups, and the switch that answers."""
    first, again = (operation.call(api, HTTP_IDEMPOTENCY_KEY="once") for _ in range(2))

    assert first.status_code == again.status_code == operation.status, first.content
    assert ("Idempotent-Replayed" in first, again["Idempotent-Replayed"]) == (False, "true")
    assert first.content == again.content
    assert not network_guard.refused


@each_operation
def test_without_its_right_an_operation_is_refused_even_for_unknown_ids(operation, anonymous, api_client):
    """Answer 401 without a credential, with the scheme, and 403 with every right but its own, with that right."""
    response = operation.call(anonymous, operation.unknown)
    assert_is_error(response, 401)
    assert response["WWW-Authenticate"].startswith("Basic ")
    if not operation.right:
        return
    others = {f"{area}:{access}" for area in AREAS for access in ("read", "write")} - {operation.right}
    client = api_client(*others)

    response = operation.call(client, operation.unknown)

    assert_is_error(response, 403)
    assert operation.right in response.json()["errors"][0]["message"]


@pytest.mark.parametrize(("operation", "odd"), list(zip(of_an_object, cycle(ODD), strict=False)), ids=str)
def test_an_unknown_or_odd_id_is_404_even_with_a_faulty_request(operation, odd, world, api):
    query = "include_record_fields=perhaps&search_in_additional_numbers=perhaps"
    unknown = operation.unknown.partition("?")[0]
    pairs = zip(unknown.split("/"), _path(operation).split("/"), strict=True)
    with_odd = "/".join(part if part == known else odd for part, known in pairs)

    empty = api.generic(operation.method, f"/api{with_odd}?{query}", "{}", "application/json")
    broken = api.generic(operation.method, f"/api{unknown}?{query}", "{", "application/json")

    assert_is_error(empty, 404)
    assert_is_error(broken, 404)
    # The code names the kind that is unknown; NOT_FOUND is that of unknown paths.
    (of_empty,), (of_broken,) = empty.json()["errors"], broken.json()["errors"]
    assert of_empty["code"] == of_broken["code"]
    names = {code.number: code.name for code in ErrorCode}
    assert names[of_empty["code"]].endswith("_NOT_FOUND")


@each_operation
def test_an_unknown_method_is_405_and_names_the_allowed_ones(operation, api, anonymous):
    assert_is_error(anonymous.generic("PATCH", f"/api{_path(operation)}"), 401)

    response = api.generic("PATCH", f"/api{_path(operation)}", "{}", "application/json")

    assert_is_error(response, 405)
    assert operation.method in response["Allow"].split(", ")
    assert "PATCH" not in response["Allow"]


@each_operation
def test_an_answer_is_the_same_kind_with_a_slash_and_with_any_accept_header(operation, world, api):
    """One trailing slash is tolerated and never redirected, and no answer is HTML."""
    api.defaults["HTTP_ACCEPT"] = "text/html"
    path, mark, query = operation.path.partition("?")

    response = operation.call(api, f"{path}/{mark}{query}")
    of_unknown = operation.call(api, operation.unknown or operation.path)

    assert response.status_code == operation.status
    for answer in (response, of_unknown):
        assert answer.get("Content-Type", JSON) in (JSON, operation.answer_type)


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/outbound", "/api/outbounds//", "/api/admin/", "/api/x.html"])
def test_an_unknown_path_is_401_then_404_and_json(path, api, anonymous):
    assert_is_error(anonymous.get(path), 401)
    assert_is_error(api.get(path), 404)
    assert_is_error(api.post(path, {}), 404)
