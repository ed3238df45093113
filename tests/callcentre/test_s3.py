"""Files in a bucket of S3 behave as files in a folder do."""

import io
import os
from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any

import boto3
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.utils import timezone

from callcentre.core import file_store
from callcentre.core.file_removals import FileRemoval, remove_files
from callcentre.core.file_store import MARK, check_folder
from callcentre.core.monitoring import NotReadyError
from callcentre.core.s3_storage import Storage
from callcentre.environment import files
from callcentre.launch.servers import is_free
from callcentre.lists import exports
from callcentre.lists.models import ListExport
from callcentre.models import User
from tests.backoffice import superuser
from tests.campaigns import test_import_job
from tests.campaigns.conftest import campaign  # noqa: F401  (a fixture)
from tests.lists.factories import ListExportFactory
from tests.processes import running, wait_for
from tests.serving import free_port
from tests.telephony import test_transcriptions_admin
from tests.tickets import test_files_api
from tests.tickets.factories import MessageFactory, StoredFileFactory, TicketQueueFactory
from tickets.file_storage import TooLong, store
from tickets.mail.intake import take_in
from tickets.models import StoredFile

pytestmark = [pytest.mark.slow("starts a server of S3"), pytest.mark.usefixtures("plain_static", "db")]
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


@pytest.fixture
def bucket(server, tmp_path, monkeypatch, settings):
    """Keep files in a folder of the bucket, as with S3_BUCKET."""
    for name, value in {**KEYS, "S3_BUCKET": "files", "S3_ENDPOINT": server}.items():
        monkeypatch.setenv(name, value)
    described = files(tmp_path)
    described["OPTIONS"]["location"] = tmp_path.name
    settings.STORAGES = {**settings.STORAGES, "default": described}
    monkeypatch.setattr(file_store, "_is_right_bucket", False)


# Tests of folders, with the bucket.
own_storage = bucket
test_attachments = test_files_api.test_upload_use_and_download_a_file
test_files_with_and_without_rows = test_files_api.test_file_with_a_row_is_no_orphan
test_players = test_transcriptions_admin.test_a_player_may_jump
test_a_recording_that_is_gone = test_transcriptions_admin.test_a_recording_that_is_not_there_is_404
test_imports = test_import_job.test_the_error_file_of_a_dead_attempt_is_replaced


@pytest.fixture(params=["folder", "bucket"])
def both(request, tmp_path, settings):
    if request.param == "bucket":
        request.getfixturevalue("bucket")
    else:
        settings.STORAGES = {**settings.STORAGES, "default": files(tmp_path)}


@pytest.mark.usefixtures("both")
def test_a_name_is_taken_once():
    first, second = (default_storage.save("a/b", ContentFile(each)) for each in (b"1", b"2"))
    assert (first, default_storage.open(first).read(), default_storage.open(second).read()) == ("a/b", b"1", b"2")


def test_of_two_hosts_that_take_a_name_at_once_one_fails(monkeypatch, bucket):
    monkeypatch.setattr(Storage, "exists", lambda _storage, _name: False)
    default_storage.save("a/b", ContentFile(b"1"))
    with pytest.raises(FileExistsError):
        default_storage.save("a/b", ContentFile(b"2"))
    assert default_storage.open("a/b").read() == b"1"


@pytest.mark.usefixtures("both")
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


@pytest.mark.usefixtures("both")
def test_a_file_that_is_gone():
    with pytest.raises(FileNotFoundError):
        default_storage.open("gone")
    default_storage.delete("gone")
    assert not default_storage.exists("gone")


@pytest.mark.usefixtures("both")
def test_a_stream_is_measured_and_refused_beyond_its_limit():
    stored = store(io.BytesIO(b"x" * 9_000_000), 9_000_000)
    assert (stored.size, default_storage.size(stored.path)) == (9_000_000, 9_000_000)

    with pytest.raises(TooLong):
        store(io.BytesIO(b"x" * 9_000_001), 9_000_000)
    assert default_storage.listdir(stored.path.rpartition("/")[0])[1] == [stored.token]


@pytest.mark.usefixtures("bucket", "committed_db")
def test_a_mail_is_taken_in_and_leaves_with_its_files():
    """No file is stored while a transaction is open: the guard of tests would refuse it."""
    TicketQueueFactory()
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "jan@client.example", "help@us.example", "Broken"
    mail.set_content("See the picture.")
    mail.add_attachment(b"picture", "image", "png", filename="a.png")

    received = take_in(io.BytesIO(bytes(mail)))
    file = StoredFile.objects.get()
    assert (received.outcome, default_storage.open(file.path).read()) == ("stored", b"picture")

    FileRemoval.add([file.path, received.path])
    assert remove_files() == 2
    with pytest.raises(CommandError):
        call_command("verify")


@pytest.mark.usefixtures("bucket", "committed_db", "plain_static")
def test_an_export_is_stored_and_downloaded():
    client = superuser()
    ListExportFactory(actor_id=User.objects.get().pk, next_attempt_at=timezone.now())
    assert exports.build_next()

    export = ListExport.objects.get()
    response: Any = client.get(f"/admin/lists/listexport/{export.pk}/download/")
    assert len(b"".join(response.streaming_content)) == export.file_size == default_storage.size(str(export.file))


@pytest.mark.usefixtures("bucket", "committed_db")
def test_a_bucket_that_does_not_answer_is_503_and_the_host_stays_ready(api, settings):
    check_folder()
    file = StoredFileFactory(message=MessageFactory())
    options = settings.STORAGES["default"]["OPTIONS"]
    away = {**settings.STORAGES["default"], "OPTIONS": options | {"endpoint_url": "http://127.0.0.1:1"}}
    settings.STORAGES = {**settings.STORAGES, "default": away}

    assert api.get(f"/api/files/{file.token}").status_code == 503
    check_folder()
    settings.STORAGES = {**settings.STORAGES, "default": {**away, "OPTIONS": options}}
    assert api.get(f"/api/files/{file.token}").status_code == 200


@pytest.mark.usefixtures("bucket")
def test_a_host_with_another_bucket_is_not_ready(committed_db):
    check_folder()
    default_storage.delete(MARK)
    file_store._is_right_bucket = False
    with pytest.raises(NotReadyError):
        check_folder()
