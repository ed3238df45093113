"""The API of files: upload, use in a message, download."""

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core.actor import SYSTEM, Actor
from callcentre.models import ApiUser
from tests.conftest import ACTOR, ApiClient
from tests.serving import at_once
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import StoredFileFactory, TicketFactory
from tickets import pruning
from tickets.file_downloads import response_of
from tickets.file_storage import FOLDER, PIECE, TooLong, clean_name, store
from tickets.models import ReceivedMail, StoredFile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


def upload(api: ApiClient, body: bytes = b"abc", name: str = "a.pdf", **headers: Any) -> Any:
    return api.post(f"/api/temporary_files?filename={name}", body, content_type="application/octet-stream", **headers)


def reply(api: ApiClient, *tokens: str) -> Any:
    body = {"body": "x", "user_login": AgentFactory().login, "attachments": list(tokens)}
    return api.post(f"/api/tickets/{TicketFactory().pk}/agent_response", body)


def codes(answer: Any) -> list[tuple[int, str | None]]:
    return [(error["code"], error.get("field")) for error in answer.json()["errors"]]


def files_on_disk() -> int:
    def count(folder: str) -> int:
        folders, files = default_storage.listdir(folder)
        return len(files) + sum(count(f"{folder}/{each}") for each in folders)

    return count(FOLDER) if default_storage.exists(FOLDER) else 0


def test_upload_use_and_download_a_file(api):
    uploaded = upload(api, b"abc", "rechnung%20%C5%81.pdf")
    token = uploaded.json()["token"]
    ticket, agent = TicketFactory(), AgentFactory()
    body = {"body": "x", "user_login": agent.login, "attachments": [token]}

    first = api.post(f"/api/tickets/{ticket.pk}/agent_response", body)
    second = api.post(f"/api/tickets/{ticket.pk}/agent_response", body)
    download: Any = api.get(f"/api/files/{token}")

    assert (uploaded.status_code, uploaded.json()) == (201, {"filename": "rechnung Ł.pdf", "token": token, "size": 3})
    assert (first.status_code, second.status_code) == (201, 400)
    assert ticket.messages.get().attachments == [token]
    assert b"".join(download.streaming_content) == b"abc"
    assert download["Content-Disposition"].startswith("attachment; filename*=utf-8''rechnung")
    assert download["X-Content-Type-Options"] == "nosniff"
    default_storage.delete(StoredFile.objects.get().path)
    assert api.get(f"/api/files/{token}").status_code == 404


def test_only_the_uploader_can_use_a_file(api, api_client):
    token = upload(api).json()["token"]
    other = api_client("*", login="other")

    assert codes(reply(other, token)) == [(152001, "attachments.0")]
    assert other.get(f"/api/files/{token}").status_code == 404
    for actor in (SYSTEM, Actor("agent", 1, "agent"), ACTOR):
        assert not StoredFile.objects.usable_by(actor).exists(), actor


def test_too_large_file_is_refused_before_it_is_read(api, settings):
    settings.MAX_UPLOAD_MB = 1

    response = upload(api, b"x" * (1024 * 1024 + 1))

    assert (response.status_code, files_on_disk()) == (413, 0)


@pytest.mark.parametrize(
    ("body", "name", "code"), [(b"", "a.pdf", 152002), (b"abc", "", 100001), (b"abc", "..", 100001)]
)
def test_wrong_upload_stores_nothing(api, body, name, code):
    response = upload(api, body, name)

    assert [error["code"] for error in response.json()["errors"]] == [code]
    assert (StoredFile.objects.count(), files_on_disk()) == (0, 0)


@pytest.mark.parametrize("key", [{}, {"HTTP_IDEMPOTENCY_KEY": "k"}])
def test_multipart_upload_is_refused_and_stores_nothing(api, key):
    kind = "Multipart/Form-Data; boundary=b"
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\nabc\r\n--b--\r\n'

    response = api.post("/api/temporary_files?filename=a.pdf", body, content_type=kind, **key)

    assert (response.status_code, codes(response)) == (415, [(152006, None)])
    assert (StoredFile.objects.count(), files_on_disk()) == (0, 0)


def test_upload_repeated_with_its_key_is_one_file(api):
    first, second = (upload(api, HTTP_IDEMPOTENCY_KEY="k") for _ in range(2))
    others = [upload(api, b"other", HTTP_IDEMPOTENCY_KEY="k"), upload(api, name="b.pdf", HTTP_IDEMPOTENCY_KEY="k")]

    assert second.json() == first.json()
    assert second["Idempotent-Replayed"] == "true"
    assert [(other.status_code, codes(other)) for other in others] == [(409, [(100112, None)])] * 2
    assert ([file.filename for file in StoredFile.objects.all()], files_on_disk()) == (["a.pdf"], 1)


class Stream(io.RawIOBase):
    """A large body that records the sizes of its reads."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.asked: list[int] = []

    def read(self, size: int = -1, /) -> bytes:
        self.asked.append(size)
        given = min(size, self.left)
        self.left -= given
        return b"x" * given


def test_file_is_never_completely_in_memory():
    stream = Stream(40 * PIECE + 1)

    stored = store(stream, 100 * PIECE)

    assert set(stream.asked) == {PIECE}
    assert len(stream.asked) == 42
    assert default_storage.size(stored.path) == stored.size == 40 * PIECE + 1


def test_too_long_stream_is_cut_off_and_removed():
    stream = Stream(10**12)

    with pytest.raises(TooLong):
        store(stream, 10 * PIECE)

    assert (len(stream.asked), files_on_disk()) == (11, 0)


def test_incomplete_upload_stores_nothing(api):
    cut: dict[str, Any] = {"CONTENT_LENGTH": "5", "wsgi.input": io.BytesIO(b"abc")}

    response = upload(api, **cut)

    assert codes(response) == [(152005, None)]
    assert (StoredFile.objects.count(), files_on_disk()) == (0, 0)


def test_unused_file_is_kept_for_a_day_and_that_of_a_message_for_ever(api):
    token, other, sent = (upload(api).json()["token"] for _ in range(3))
    reply(api, sent)
    StoredFile.objects.filter(token=token).update(created_at=timezone.now() - timedelta(hours=24, minutes=1))
    StoredFile.objects.filter(token=sent).update(created_at=timezone.now() - timedelta(days=400))

    assert codes(reply(api, token)) == [(152001, "attachments.0")]
    assert [api.get(f"/api/files/{each}").status_code for each in (token, other, sent)] == [404, 200, 200]
    assert pruning.prune() == 1
    assert set(StoredFile.objects.values_list("token", flat=True)) == {other, sent}
    assert files_on_disk() == 2


def test_file_without_a_row_is_removed_after_a_crash(api, monkeypatch, settings):
    class Crash(BaseException):
        """A crash that no exception handler sees, like a kill."""

    def crash(file, **options):
        raise Crash

    monkeypatch.setattr(StoredFile, "save", crash)
    with pytest.raises(Crash):
        upload(api)
    assert (StoredFile.objects.count(), files_on_disk()) == (0, 1)

    folder = Path(settings.STORAGES["default"]["OPTIONS"]["location"], FOLDER)
    today, then = (f"{timezone.now() - timedelta(days=days):%Y/%m/%d}" for days in (0, 3))
    (folder / then).mkdir(parents=True)
    for each in (folder / today).iterdir():
        each.rename(folder / then / each.name)

    assert (pruning.prune(), files_on_disk()) == (1, 0)


def test_file_with_a_row_is_no_orphan():
    with time_machine.travel(timezone.now() - timedelta(days=3)):
        attached, raw, orphan = (store(io.BytesIO(b"x"), 10) for _ in range(3))
    values = {"filename": "a", "content_type": "b", "size": 1, "sha256": ""}
    StoredFile.objects.create(token=attached.token, path=attached.path, **values)
    mail = default_storage.save(raw.path.replace(raw.token, f"{'a' * 64}-0"), default_storage.open(raw.path))
    raw.discard()
    ReceivedMail.objects.create(sha256="a" * 64, path=mail, size=1)

    assert pruning.prune() == 1

    assert [default_storage.exists(path) for path in (attached.path, mail, orphan.path)] == [True, True, False]


def test_number_of_unused_files_of_an_api_user_is_limited(api, settings):
    settings.MAX_TEMPORARY_FILES = 1
    upload(api)

    assert codes(upload(api)) == [(152004, None)]
    assert files_on_disk() == 1


def test_total_size_of_the_files_of_a_message_is_limited(api, settings):
    settings.MAX_UPLOAD_MB = 1
    tokens = [upload(api, b"x" * 600_000).json()["token"] for _ in range(2)]

    assert codes(reply(api, *tokens)) == [(152003, "attachments")]
    assert reply(api, tokens[0]).status_code == 201


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("C:\\fakepath\\a.pdf", "a.pdf"),
        ("../../etc/passwd", "passwd"),
        ("/home/jan/a.pdf", "a.pdf"),
        ("FV 17/2026.pdf", "FV 17-2026.pdf"),
        ('a"b<c>.pdf', "abc.pdf"),
        ("a\r\nSet-Cookie: x.pdf", "aSet-Cookie x.pdf"),
        ("\u202egpj.exe", "gpj.exe"),
    ],
)
def test_file_names_are_cleaned(given, kept):
    assert clean_name(given) == kept


@pytest.mark.parametrize(
    ("name", "inline", "disposition", "content_type"),
    [
        ("a.png", True, "inline", "image/png"),
        ("a.png", False, "attachment", "image/png"),
        ("a.svg", True, "attachment", "application/octet-stream"),
        ("a.html", True, "attachment", "application/octet-stream"),
        ("a.xhtml", True, "attachment", "application/octet-stream"),
        ("a.js", True, "attachment", "application/octet-stream"),
        ("a.pdf", True, "attachment", "application/pdf"),
    ],
)
def test_only_images_are_shown_inline(name, inline, disposition, content_type):
    stored = store(io.BytesIO(b"x"), 10)

    response = response_of(StoredFile.of(stored, name), inline=inline)

    assert response["Content-Disposition"].partition(";")[0] == disposition
    assert response["Content-Type"] == content_type
    assert response["X-Content-Type-Options"] == "nosniff"


def test_only_one_of_two_concurrent_messages_gets_a_file(committed_db, credential, servers):
    """Use real servers and real transactions (tests.serving)."""
    user, tickets, agent = ApiUser.objects.get(), TicketFactory.create_batch(2), AgentFactory()
    StoredFileFactory(token="t", api_user=user)
    body = {"body": "x", "user_login": agent.login, "attachments": ["t"]}

    answers = at_once(
        lambda server=server, ticket=ticket: server.request(  # type: ignore[misc]
            "POST", f"/api/tickets/{ticket.pk}/agent_response", body, auth=credential
        )
        for server, ticket in zip(servers, tickets, strict=True)
    )

    assert sorted(answer.status for answer in answers) == [201, 400]
