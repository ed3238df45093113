"""Files in a bucket of S3 behave as files in a folder do: each test runs with both."""

import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import boto3
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core import file_store
from callcentre.environment import file_storage
from callcentre.launch.servers import is_free
from tests.processes import running, wait_for
from tests.serving import free_port
from tickets import pruning
from tickets.file_storage import TooLong, store

pytestmark = [pytest.mark.slow("starts a server of S3"), pytest.mark.usefixtures("files")]
REGION = "eu-central-1"
LOGIN = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
KEYS = {"S3_ACCESS_KEY": "key", "S3_SECRET_KEY": "secret", "S3_REGION": REGION}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server with the bucket `files`."""
    port, log = free_port(), tmp_path_factory.mktemp("s3") / "log"
    with running(["moto.server", "-H", "127.0.0.1", "-p", str(port)], {**os.environ}, log):
        wait_for(lambda: not is_free(port, "127.0.0.1"), "S3 answers")
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name=REGION, **LOGIN)
        client.create_bucket(Bucket="files", CreateBucketConfiguration={"LocationConstraint": REGION})
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(params=["folder", "bucket"])
def files(request, tmp_path, monkeypatch, settings):
    """Use a folder or a bucket of its own as the storage."""
    if request.param == "bucket":
        address = request.getfixturevalue("server")
        for name, value in {**KEYS, "S3_BUCKET": "files", "S3_ENDPOINT": address}.items():
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(file_store, "_is_right_bucket", False)
    described = file_storage(tmp_path)
    if request.param == "bucket":
        described["OPTIONS"]["location"] = tmp_path.name
    settings.STORAGES = {**settings.STORAGES, "default": described}
    return request.param


def test_a_name_is_taken_once():
    with ThreadPoolExecutor(4) as threads:
        names = list(threads.map(lambda number: default_storage.save("a/b", ContentFile(b"%d" % number)), range(4)))

    assert len(set(names)) == 4
    assert "a/b" in names
    assert sorted(default_storage.open(name).read() for name in names) == [b"0", b"1", b"2", b"3"]


def test_a_file_is_read_from_any_place_on():
    content = os.urandom(700_000)
    default_storage.save("sound", ContentFile(content))

    with default_storage.open("sound") as file:
        assert file.size == 700_000
        file.seek(500_000)
        assert file.read(10) == content[500_000:500_010]
        file.seek(5)
        assert file.read(300_000) == content[5:300_005]
        file.seek(-3, io.SEEK_END)
        assert file.read() == content[-3:]


def test_a_file_that_is_gone():
    with pytest.raises(FileNotFoundError):
        default_storage.open("gone")
    default_storage.delete("gone")
    assert not default_storage.exists("gone")


def test_a_stream_is_measured_and_refused_beyond_its_limit():
    stored = store(io.BytesIO(b"x" * 9_000_000), 9_000_000)
    assert (stored.size, default_storage.size(stored.path)) == (9_000_000, 9_000_000)

    with pytest.raises(TooLong):
        store(io.BytesIO(b"x" * 9_000_001), 9_000_000)
    assert default_storage.listdir(stored.path.rpartition("/")[0])[1] == [stored.token]


@pytest.mark.django_db
def test_files_without_a_row_are_removed(monkeypatch):
    """A process that dies between the upload and the commit leaves one."""
    monkeypatch.setattr("django.utils.timezone.now", lambda then=timezone.now() - timedelta(days=3): then)
    stored = store(io.BytesIO(b"x"), 10)
    monkeypatch.undo()
    assert default_storage.exists(stored.path)
    assert pruning.prune() == 1
    assert not default_storage.exists(stored.path)
