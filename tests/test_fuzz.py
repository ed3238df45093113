"""Made-up requests to each operation (schemathesis), right and wrong ones: each answer is one of the document."""

from typing import Any

import pytest
import schemathesis
from django.db import transaction
from django.test.client import ClientHandler
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from tests.documented import document, operations
from tests.test_schema import demonstration, id_for, names  # noqa: F401  (a fixture)
from tests.tiers import examples

pytestmark = [pytest.mark.slow("asks each operation of the API with made-up requests"), pytest.mark.django_db]

# Of the operations: a part is tried by one process, with one demonstration.
PARTS = 2
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


def answer(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer as the service does, but keep the connection and the transaction of the test."""
    response = ClientHandler(enforce_csrf_checks=False)({**environ, "HTTP_HOST": "testserver"})
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [b"".join(response)]


@pytest.fixture(scope="module")
def made_up() -> Any:
    schema = schemathesis.openapi.from_dict(document())
    schema.config.generation.with_security_parameters = False
    schema.app = answer
    return schema


@pytest.mark.usefixtures("demonstration", "plain_static")
@pytest.mark.parametrize("part", range(PARTS))
def test_each_answer_to_a_made_up_request_is_one_of_the_document(part: int, made_up: Any, api: Any) -> None:
    for path, method, _operation in list(operations())[part::PARTS]:
        ask_all(made_up[path][method.upper()], path, {"Authorization": api.defaults["HTTP_AUTHORIZATION"]})


def ask_all(operation: Any, path: str, credentials: dict[str, str]) -> None:
    known = {**names(), "id": id_for(path)}
    cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in GenerationMode))

    # Always the same requests: what a change breaks is seen in the run of that change.
    @seed(35)
    @settings(max_examples=examples(120, part=8), database=None, deadline=None, phases=[Phase.generate])
    @given(case=cases, is_known=st.booleans())
    def ask(case: Any, is_known: bool) -> None:
        if is_known:
            case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
        before = transaction.savepoint()
        response = case.call(headers=credentials)
        transaction.savepoint_rollback(before)
        case.validate_response(response, checks=CHECKS)

    ask()
