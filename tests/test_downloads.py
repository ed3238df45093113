"""Each way to get personal data as a file leaves an entry in the audit log."""

import ast
from collections.abc import Iterator

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command

from callcentre.core.audit import AuditEntry
from tests.campaigns.factories import CampaignFactory, RecordImportFactory
from tests.processes import ROOT
from tests.reports.factories import ExportFactory
from tests.tickets.factories import ReceivedMailFactory

APPS = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
# Calls that make an answer with a file, and calls that log it.
ANSWERS = {"FileResponse", "StreamingHttpResponse", "file_response", "response_of", "sound"}
LOGGING = {"record", "record_once"}
WITHOUT_ENTRY = {
    "callcentre/core/downloads.py:file_response": "called by views",
    "campaigns/admin/dialling.py:compliance_download": "figures without numbers and names",
    "telephony/sounds.py:show_sound": "our own sounds",
    "knowledgebase/images.py:show_image": "images of articles",
    "telephony/admin/transcriptions.py:sound": "called by views",
    "tickets/admin/ticket_page_files.py:file_view": "a part of one ticket, whose reading is not logged",
    "tickets/api/files.py:retrieve": "a part of one ticket, whose reading is not logged",
    "tickets/file_downloads.py:response_of": "called by views",
}
# The commands, and the reason why one needs no entry; "" for those that have one.
COMMANDS = {
    "create_api_user": "the history of API users",
    "demo": "invented data",
    "export_articles": "articles hold no personal data",
    "export_records": "",
    "generate_data": "invented data",
    "import_articles": "the history of articles",
    "import_records": "the import names the person",
    "listen_to_switch": "a process of the service",
    "migrate": "changes tables",
    "rebuild_rollups": "writes figures into the database",
    "receive_mail": "a process of the service",
    "rotate_field_keys": "writes nothing readable",
    "run_dialer": "a process of the service",
    "verify": "writes ids and states only",
    "watch_mailboxes": "a process of the service",
    "simulate_inbound": "writes calls into the database",
}


def functions() -> Iterator[tuple[str, set[str]]]:
    """Yield each function that answers with a file, and the names of all functions that it calls."""
    for path in sorted(path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts):
        text = path.read_text()
        if "Content-Disposition" not in text and not any(f"{name}(" in text for name in ANSWERS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                inside = list(ast.walk(node))
                called = {
                    each.func.id for each in inside if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
                }
                headers = [
                    each for each in inside if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)
                ]
                is_named = any(getattr(each.slice, "value", "") == "Content-Disposition" for each in headers)
                if is_named or called & ANSWERS:
                    yield f"{path.relative_to(ROOT)}:{node.name}", called


def test_each_view_that_answers_with_a_file_writes_an_entry():
    found = dict(functions())

    assert {name for name, called in found.items() if not called & LOGGING} == WITHOUT_ENTRY.keys()
    assert len(found) > len(WITHOUT_ENTRY)


def test_each_command_that_writes_personal_data_writes_an_entry():
    files = {path.stem: path.read_text() for app in APPS for path in (ROOT / app).glob("management/commands/[a-z]*.py")}

    assert files.keys() == COMMANDS.keys()
    assert [name for name, reason in COMMANDS.items() if ("record(" in files[name]) == bool(reason)] == []


def stored(name: str) -> str:
    return str(default_storage.save(name, ContentFile(b"content")))


def received_mail() -> str:
    return f"/admin/tickets/receivedmail/{ReceivedMailFactory(path=stored('files/1'), subject='Anna').pk}/raw/"


def refused_rows() -> str:
    return f"/admin/campaigns/recordimport/{RecordImportFactory(error_file=stored('files/2')).pk}/errors/"


def report() -> str:
    return f"/admin/reports/export/{ExportFactory(finished=True, file=stored('files/3')).pk}/download/"


@pytest.mark.django_db
@pytest.mark.usefixtures("plain_static", "own_storage")
@pytest.mark.parametrize("made", [received_mail, refused_rows, report])
def test_a_download_is_logged_once_an_hour(admin_client, made):
    address = made()
    for _ in range(2):
        assert admin_client.get(address).status_code == 200

    (entry,) = AuditEntry.objects.filter(action="download")
    assert (entry.actor_name, entry.actor_address) == ("admin", "127.0.0.1")
    assert "Anna" not in entry.object_name


@pytest.mark.django_db
def test_an_export_by_the_command_names_the_user_of_the_terminal(tmp_path):
    campaign = CampaignFactory()

    call_command("export_records", campaign.code, tmp_path / "records.csv")

    entry = AuditEntry.objects.get(action="export")
    assert (entry.object_id, entry.actor_kind) == (str(campaign.pk), "system")
    assert entry.actor_name.startswith("export_records (")
