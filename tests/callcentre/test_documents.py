"""The documents of the API at /api/schema and /api/docs: their forms and their readers."""

from typing import Any

import orjson
import pytest
import yaml

from callcentre.api.documents import rendered_document
from callcentre.core.errors import ErrorCode
from callcentre.models import User
from tests.backoffice import superuser

pytestmark = pytest.mark.usefixtures("plain_static")

JSON = "application/json; charset=utf-8"
YAML = "application/yaml; charset=utf-8"


def loaded(document: bytes) -> Any:
    # The loader in C: the other one takes seconds for a megabyte.
    return yaml.load(document, Loader=yaml.CSafeLoader)


@pytest.mark.slow("makes the document of the API")
def test_an_api_user_reads_the_document_as_yaml_or_json(api):
    as_yaml, as_json = api.get("/api/schema"), api.get("/api/schema?format=json")

    assert as_yaml["Content-Type"] == YAML
    assert as_json["Content-Type"] == JSON
    assert loaded(as_yaml.content) == orjson.loads(as_json.content)


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs", "/api/ping", "/api/unknown"])
@pytest.mark.parametrize("header", ["", " ", "Basic", "Bearer x"])
def test_a_header_without_a_credential_is_401(path, header, client):
    response = client.get(path, headers={"authorization": header})

    assert response.status_code == 401


@pytest.mark.slow("makes the document of the API")
@pytest.mark.parametrize(
    ("query", "accept", "content_type"),
    [
        ("", "application/json", JSON),
        ("", "application/*, */*;q=0.1", YAML),
        ("", "application/yaml;q=0.5, application/json", JSON),
        ("", "application/json;q=0.5, application/yaml", YAML),
        ("", "nonsense", YAML),
        ("?format=yaml", "application/json", YAML),
        ("?format=json", "application/yaml", JSON),
        ("?format=xml", "application/json", JSON),
    ],
)
def test_the_client_chooses_the_form_of_the_document(query, accept, content_type, api):
    response = api.get(f"/api/schema{query}", HTTP_ACCEPT=accept)

    assert (response.status_code, response["Content-Type"]) == (200, content_type)
    assert "Accept" in response["Vary"]
    document = orjson.loads(response.content) if content_type == JSON else loaded(response.content)
    assert document["openapi"] == "3.0.3"


def test_the_document_names_the_server_by_the_address_of_its_request(api, settings):
    settings.ALLOWED_HOSTS = ["calls.example", "testserver"]

    hosts = ("calls.example:8443", "testserver")
    servers = [api.get("/api/schema?format=json", HTTP_HOST=host).json()["servers"] for host in hosts]

    assert servers == [[{"url": f"http://{host}"}] for host in hosts]


@pytest.mark.slow("makes the document of the API")
def test_the_document_is_english_in_every_language(api):
    rendered_document.cache_clear()

    assert b"Campaigns and their records" in api.get("/api/schema", HTTP_ACCEPT_LANGUAGE="pl").content


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs"])
def test_an_anonymous_client_is_refused_in_json(anonymous, path):
    response = anonymous.get(path)

    assert (response.status_code, response.json()["errors"][0]["code"]) == (401, ErrorCode.UNAUTHENTICATED.number)
    assert response["WWW-Authenticate"].startswith("Basic")


def test_only_a_back_office_user_reads_the_documents_by_a_session_and_nothing_else(db, client):
    stranger = client.get("/api/docs", HTTP_ACCEPT="text/html,application/xhtml+xml")
    assert (stranger.status_code, stranger["Location"]) == (302, "/admin/login/?next=/api/docs")

    for is_staff, status in ((True, 200), (False, 401)):
        client.force_login(User.objects.create_user(f"user-{is_staff}", is_staff=is_staff))
        found = [client.get(path, HTTP_ACCEPT="text/html").status_code for path in ("/api/schema", "/api/docs")]
        assert found == [status] * 2
        assert client.get("/api/docs", headers={"authorization": ""}).status_code == status
    assert superuser().get("/api/outbounds").status_code == 401
