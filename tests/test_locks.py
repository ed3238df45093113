"""The two lock files, and the OpenAPI document read by programs of others."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import orjson
import pytest

from callcentre.api.documents import rendered_document
from tests.serving import WebServer
from tests.telephony.factories import ConnectionFactory, ConnectionTopicFactory, QueueFactory, TopicFactory
from tests.webhooks.factories import EventFactory
from webhooks.event_types import EventType

ROOT = Path(__file__).resolve().parents[1]
OURS = {path.parent.name for path in ROOT.glob("*/__init__.py")}
# The folders of programs that run with requirements.lock alone.
SHIPPED = [*sorted(OURS - {"tests"}), "deploy", "docs"]
# Modules that only developers use. The programs import them when an option asks for them.
FOR_DEVELOPERS = {"benchmarks/dialler/plots.py", "benchmarks/sound/__main__.py", "benchmarks/sound/trial.py"}
# The modules that need the packages for S3.
FOR_S3 = {"s3_storage.py", "hosts.py"}
# Modules without a package: type checkers provide them.
FOR_TYPES = {"_typeshed"}
PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([^ ;]+)", re.MULTILINE)


def pins(lock: str) -> dict[str, str]:
    """Return the version of each package of a lock."""
    return dict(PIN.findall((ROOT / lock).read_text()))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(requirements: list[str]) -> set[str]:
    """Return the names of the packages in requirements of pyproject.toml."""
    return {normal(re.split(r"[^\w.-]", requirement)[0]) for requirement in requirements}


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level names of all modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


OTHER_LOCKS = ("requirements-dev.lock", "requirements-s3.lock")


@pytest.mark.slow("starts processes")
def test_the_service_imports_only_packages_of_its_own_lock():
    distributions, locked, with_s3 = packages_distributions(), pins("requirements.lock"), pins("requirements-s3.lock")
    files = [ROOT / "manage.py", *(path for folder in SHIPPED for path in (ROOT / folder).rglob("*.py"))]

    missing = {
        (str(path.relative_to(ROOT)), name)
        for path in files
        if str(path.relative_to(ROOT)) not in FOR_DEVELOPERS
        for name in imported(path)
        if name not in sys.stdlib_module_names | OURS | FOR_TYPES
        and not any(
            normal(distribution) in (with_s3 if path.name in FOR_S3 else locked)
            for distribution in distributions.get(name, [])
        )
    }

    assert len(files) > 100
    assert missing == set()


def test_each_lock_has_its_packages_of_pyproject_and_those_of_several_have_one_version():
    wants, runs, develops, with_s3 = project(), *map(pins, ("requirements.lock", *OTHER_LOCKS))
    tools, both = wanted(wants["dependency-groups"]["dev"]), runs.keys() & develops.keys()

    assert wanted(wants["project"]["dependencies"]) <= runs.keys()
    assert tools <= develops.keys()
    assert not tools & runs.keys()
    assert "django" in both
    assert {name for name in both if runs[name] != develops[name]} == set()
    assert runs.items() | with_s3.items() == with_s3.items()
    assert wanted(wants["project"]["optional-dependencies"]["s3"]) <= with_s3.keys() & develops.keys()


def test_the_locks_name_no_host():
    assert [
        line for lock in ROOT.glob("requirements*.lock") for line in lock.read_text().splitlines() if "//" in line
    ] == []


PACKAGE = "client_of_callcentre"


@pytest.fixture(scope="module")
def document():
    return orjson.loads(rendered_document("http://127.0.0.1", is_json=True))


@pytest.fixture(scope="module")
def generated(document, tmp_path_factory):
    """Return the folder of a client that openapi-python-client made from the document; Python can import it."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "openapi.json").write_bytes(orjson.dumps(document))
    (folder / "config.yaml").write_text("post_hooks: []")  # the default hooks format the code
    names = ["--path", "openapi.json", "--config", "config.yaml", "--output-path", PACKAGE]
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning", *names]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder / PACKAGE


def call(server: WebServer, credential: str, operation: str, **arguments: Any) -> Any:
    """Call `<tag>.<operation id>` by the generated client. Return its answer: status_code, parsed."""
    client = importlib.import_module(f"{PACKAGE}.client").Client(
        base_url=f"http://127.0.0.1:{server.port}", httpx_args={"auth": tuple(credential.split(":"))}
    )
    with client:
        return importlib.import_module(f"{PACKAGE}.api.{operation}").sync_detailed(client=client, **arguments)


@pytest.mark.trial
@pytest.mark.slow("starts processes")
def test_the_generated_client_has_every_operation(document, generated):
    wanted = {
        f"{operation['tags'][0]}.{operation['operationId']}"
        for methods in document["paths"].values()
        for operation in methods.values()
    }

    made = {f"{path.parent.name}.{path.stem}" for path in generated.glob("api/*/*.py") if path.stem != "__init__"}

    assert made == wanted
    for operation in made:
        assert callable(importlib.import_module(f"{PACKAGE}.api.{operation}").sync_detailed)


@pytest.mark.trial
def test_the_generated_client_reads_an_object_by_its_id(generated, servers, credential):
    connection = ConnectionFactory(queue=QueueFactory())
    topic = TopicFactory(group__queue=connection.queue)
    ConnectionTopicFactory(connection=connection, topic=topic)

    of_connection = call(servers[0], credential, "connections.read_connection_topic", id=str(connection))
    of_queue = call(servers[0], credential, "connections.list_queue_topics", id=str(connection.queue_id))

    assert of_connection.parsed.to_dict()["topic_id"] == topic.pk
    assert str(topic.name) in str(of_queue.parsed)


@pytest.mark.trial
def test_the_generated_client_sends_files_objects_and_lists_and_reads_failures(generated, servers, credential):
    types, models = (importlib.import_module(f"{PACKAGE}.{name}") for name in ("types", "models"))
    upload = {"body": types.File(payload=b"%PDF-1.7"), "filename": "a.pdf"}
    tickets, customers, _ = (
        EventFactory(action=action)
        for action in (EventType.TICKET_CREATED, EventType.CUSTOMER_CREATED, EventType.AGENT_RINGING)
    )
    actions = [models.ListEventsActionsItem(event.action) for event in (tickets, customers)]

    stored = call(servers[0], credential, "tickets.upload_temporary_file", **upload)
    content = call(servers[0], credential, "tickets.download_file", token=stored.parsed.token)
    created, refused = (
        call(servers[0], credential, "campaigns.create_campaign_group", body=models.CampaignGroupInput(name=name))
        for name in ("Sales", "")
    )
    events = call(servers[0], credential, "webhooks.list_events", actions=actions)

    assert (stored.status_code, content.parsed.payload.read()) == (201, b"%PDF-1.7")
    assert (created.status_code, created.parsed.name) == (201, "Sales")
    assert (refused.status_code, refused.parsed.errors[0].field) == (400, "name")
    assert [event.id for event in events.parsed.result] == [tickets.pk, customers.pk]
