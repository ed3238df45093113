import pytest
from django.core.files.storage import default_storage

from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory
from tickets.models import StoredFile
from tickets.storing import FOLDER

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_storage(settings: object, tmp_path: object) -> None:
    backend = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = settings.STORAGES | {"default": backend}  # type: ignore[attr-defined]


def upload(api: ApiClient, body: bytes = b"abc", name: str = "a.pdf", **headers: str) -> object:
    return api.post(f"/api/temporary_files?filename={name}", body, content_type="application/octet-stream", **headers)


def files_on_disk() -> int:
    def count(folder: str) -> int:
        folders, files = default_storage.listdir(folder)
        return len(files) + sum(count(f"{folder}/{each}") for each in folders)

    return count(FOLDER) if default_storage.exists(FOLDER) else 0


def test_a_file_is_uploaded_used_once_and_downloaded(api: ApiClient) -> None:
    uploaded = upload(api, b"abc", "rechnung%20%C5%81.pdf")
    token = uploaded.json()["token"]
    ticket, agent = TicketFactory(), AgentFactory()
    body = {"body": "x", "user_login": agent.login, "attachments": [token]}

    first = api.post(f"/api/tickets/{ticket.pk}/agent_response", body)
    second = api.post(f"/api/tickets/{ticket.pk}/agent_response", body)
    download = api.get(f"/api/files/{token}")

    assert (uploaded.status_code, uploaded.json()) == (201, {"filename": "rechnung Ł.pdf", "token": token, "size": 3})
    assert (first.status_code, second.status_code) == (201, 400)
    assert ticket.messages.get().attachments == [token]
    assert b"".join(download.streaming_content) == b"abc"
    assert download["Content-Disposition"].startswith("attachment; filename*=utf-8''rechnung")
    assert download["X-Content-Type-Options"] == "nosniff"


def test_a_file_is_bound_to_its_uploader(api: ApiClient, api_client: object) -> None:
    token = upload(api).json()["token"]
    other = api_client("*", login="other")
    ticket, agent = TicketFactory(), AgentFactory()

    response = other.post(
        f"/api/tickets/{ticket.pk}/agent_response", {"body": "x", "user_login": agent.login, "attachments": [token]}
    )

    assert response.json()["errors"][0]["field"] == "attachments.0"
    assert other.get(f"/api/files/{token}").status_code == 404


def test_too_large_a_file_is_refused_by_its_length_before_it_is_read(api: ApiClient, settings: object) -> None:
    settings.MAX_UPLOAD_MB = 1

    response = upload(api, b"x" * (1024 * 1024 + 1))

    assert (response.status_code, files_on_disk()) == (413, 0)


@pytest.mark.parametrize(
    ("body", "name", "code"), [(b"", "a.pdf", 152002), (b"abc", "", 100001), (b"abc", "..", 100001)]
)
def test_a_wrong_upload_leaves_nothing(api: ApiClient, body: bytes, name: str, code: int) -> None:
    response = upload(api, body, name)

    assert [error["code"] for error in response.json()["errors"]] == [code]
    assert (StoredFile.objects.count(), files_on_disk()) == (0, 0)


def test_a_repeated_upload_with_its_key_is_one_file(api: ApiClient) -> None:
    first = upload(api, HTTP_IDEMPOTENCY_KEY="k")
    second = upload(api, HTTP_IDEMPOTENCY_KEY="k")
    other = upload(api, b"other", HTTP_IDEMPOTENCY_KEY="k")

    assert second.json() == first.json()
    assert second["Idempotent-Replayed"] == "true"
    assert other.status_code == 409
    assert (StoredFile.objects.count(), files_on_disk()) == (1, 1)


def test_html_and_svg_come_as_bytes(api: ApiClient) -> None:
    for name in ("a.html", "a.svg", "a.xhtml", "a.js"):
        token = upload(api, b"<script>alert(1)</script>", name).json()["token"]
        assert api.get(f"/api/files/{token}")["Content-Type"] == "application/octet-stream"
