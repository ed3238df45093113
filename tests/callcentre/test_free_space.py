"""A volume that is full, or nearly: writes are refused clearly before the disk stops them, reads go on."""

import json
from errno import ENOSPC
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.test import Client

from callcentre.core import free_space
from callcentre.core.errors import ErrorCode
from callcentre.core.free_space import Volume
from callcentre.launch import servers
from callcentre.lists import exports
from callcentre.models import User
from callcentre.overview import figures
from callcentre.web import bodies
from callcentre.web.bodies import allowance
from callcentre.web.front import BODY_FAULT
from campaigns.models import Campaign, RecordImport
from campaigns.tasks import import_records
from telephony import recording_files
from telephony.models import Agent, Recording
from tests.admin_pages import list_of
from tests.backoffice import superuser
from tests.callcentre.test_api import codes
from tests.campaigns.factories import CampaignFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory, PauseFactory
from tests.tickets.factories import TicketQueueFactory
from tickets.mail import mailbox_poll
from tickets.models import StoredFile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
GB = 1 << 30


def leave(monkeypatch: pytest.MonkeyPatch, free: int, total: int = 100 * GB) -> None:
    monkeypatch.setattr(free_space, "volumes", lambda: {"files": Volume(free, total)})


@pytest.fixture
def full(monkeypatch):
    leave(monkeypatch, 200 << 20)


@pytest.mark.parametrize(
    ("free", "total", "is_low", "is_full"),
    [
        *((2 * GB, 100 * GB, False, False), (GB // 2, 100 * GB, True, False), (200 << 20, 100 * GB, True, True)),
        *((30, 100, False, False), (15, 100, True, False), (9, 100, True, True)),
    ],
)
def test_limits_of_small_volumes_are_parts_of_them(free, total, is_low, is_full):
    volume = Volume(free, total)

    assert (volume.is_low, volume.is_full()) == (is_low, is_full)


@pytest.mark.usefixtures("full")
def test_the_api_refuses_writes_and_goes_on_with_reads(api_client):
    api: ApiClient = api_client("campaigns:read", "campaigns:write")

    for answer in (api.post("/api/outbounds", {"name": "x"}), api.put("/api/tickets/1")):
        assert (answer.status_code, codes(answer)) == (507, {("", ErrorCode.NO_SPACE.number)})
    assert not Campaign.objects.exists()
    assert api.get("/api/outbounds").status_code == 200


@pytest.mark.usefixtures("full")
def test_calls_are_controlled_and_rows_deleted_on_a_full_disk(api):
    campaign, agent = CampaignFactory(is_dialling=True), AgentFactory()

    assert api.post(f"/api/outbounds/{campaign.code}/dialer/stop").status_code == 204
    assert api.post(f"/api/agents/{agent.login}/pause", {"pause_id": PauseFactory().pk}).status_code == 204
    assert api.delete("/api/webhooks/1").status_code == 404
    page = superuser().post(f"/admin/campaigns/campaign/{campaign.pk}/dialling/", {"switch": "pause"})
    assert page.status_code == 302


@pytest.mark.usefixtures("full")
def test_a_form_is_refused_with_a_page_and_people_log_in_and_out():
    browser, user = superuser(), User.objects.get()

    page = browser.post(f"{list_of(Agent)}add/", {"login": "anna"})
    assert page.status_code == 507
    assert "The server has no space left" in page.content.decode()
    assert not Agent.objects.exists()
    assert browser.get(list_of(Agent)).status_code == 200
    assert browser.post("/admin/logout/").status_code in {200, 302}
    assert Client().post("/admin/login/", {"username": user.username, "password": "wrong"}).status_code == 200


def test_a_body_for_which_no_space_is_left_is_not_read(monkeypatch):
    leave(monkeypatch, GB)
    environ: dict[str, Any] = {"PATH_INFO": "/admin/campaigns/recordimport/add/", "REQUEST_METHOD": "POST"}

    # A declared length beyond the limit of the sender says nothing of the space.
    environ["CONTENT_LENGTH"] = str(2 * GB)
    assert (allowance(environ), environ.get(BODY_FAULT)) == (0, None)
    monkeypatch.setattr(bodies, "_limit_of_sender", lambda environ: GB)
    environ["CONTENT_LENGTH"] = str(GB - (100 << 20))
    assert (allowance(environ), environ[BODY_FAULT]) == (0, 507)


@pytest.mark.usefixtures("full")
def test_workers_begin_nothing_that_needs_space(monkeypatch):
    def fail(*args, **values):
        raise AssertionError("begun")

    monkeypatch.setattr("campaigns.tasks.run", fail)
    monkeypatch.setattr(recording_files, "_attempt", fail)
    monkeypatch.setattr(mailbox_poll, "open_mailbox", fail)
    monkeypatch.setattr("callcentre.core.exporting.builds.Builder._claim", fail)
    queue = TicketQueueFactory(imap_host="mail.us.example", is_active=True)

    import_records(RecordImport(pk=1).pk)
    recording_files.fetch(Recording(pk=1).pk)
    assert not exports.build_next()
    assert mailbox_poll.poll(queue.pk) == 0

    queue.refresh_from_db()
    # The mail at which the poll stopped is not blamed.
    assert (queue.imap_stuck_uid, "space" in queue.poll_error) == (None, True)


@pytest.mark.slow("reads all metrics of the process")
def test_low_space_is_measured_told_and_shown(monkeypatch, client):
    leave(monkeypatch, GB // 2)

    assert 'callcentre_volume_free_bytes{volume="files"} 5.36870912e+08' in client.get("/metrics").content.decode()
    told = client.get("/health/space")
    assert (told.status_code, told.json()["error"]) == (503, "Little space is left on: files.")
    assert json.dumps(figures.read_processes()["low_volumes"]) == json.dumps({"files": GB // 2})
    assert "The volume “files” has only 512.0\xa0MB left." in superuser().get("/admin/").content.decode()


def test_telemetry_is_kept_in_shared_memory_and_not_for_ever(tmp_path, monkeypatch):
    memory, link = tmp_path / "shm", tmp_path / "metrics"
    memory.mkdir()
    monkeypatch.setattr(servers, "SHARED_MEMORY", memory)

    first = servers.telemetry_folder(link)
    second = servers.telemetry_folder(link)
    assert (first.parent, [*memory.iterdir()], link.resolve()) == (memory, [second], second)

    monkeypatch.setattr(servers, "SHARED_MEMORY", tmp_path / "none")
    assert servers.telemetry_folder(link).parent == tmp_path
    assert [*memory.iterdir()] == []


def test_a_disk_that_fills_up_within_a_request_is_told_alike(api_client, monkeypatch):
    def fill(*args, **values):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(FileSystemStorage, "save", fill)

    answer = api_client("tickets:write").generic(
        "POST", "/api/temporary_files?filename=a.txt", b"abc", content_type="application/octet-stream"
    )

    assert (answer.status_code, codes(answer)) == (507, {("", ErrorCode.NO_SPACE.number)})
    assert not StoredFile.objects.exists()
