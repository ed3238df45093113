"""Files of do-not-call entries: uploaded in the admin, imported by the task."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from campaigns.dialling.choice import FOR_GOOD
from campaigns.importing.import_run import run
from campaigns.models import DoNotCall, Record, RecordImport
from tests.backoffice import staff, superuser
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, DoNotCallFactory, RecordFactory

pytestmark = pytest.mark.usefixtures("committed_db", "plain_static")

ADD = reverse("admin:campaigns_recordimport_add")


def upload(text: str, client: Any = None, **values: Any) -> Any:
    file = SimpleUploadedFile("numbers.csv", text.encode())
    return (client or superuser()).post(ADD, {"target": "do_not_call", "file": file, **values})


def imported(text: str, **values: Any) -> RecordImport:
    response = upload(text, **values)
    assert response.status_code == 302, response.content
    given = run(RecordImport.objects.latest("id").pk)
    assert given is not None
    assert given.state == "finished", given.message
    return given


def entries() -> set[tuple[str, bool, str | None]]:
    return set(DoNotCall.objects.values_list("number", "is_prefix", "campaign__code"))


def test_the_entries_of_a_file_are_added_or_extended():
    CampaignFactory(code="DEMO1")
    DoNotCallFactory(phone_number="+48 22 555 01 17", number="+48225550117", until=timezone.now())
    text = (
        "phone_number,prefix,outbound_id,reason,until\n"
        "22 555 01 17,,,Asked.,\n"
        ",+48 70,,,\n"
        "22 555 01 18,,DEMO1,,2031-01-01 10:00\n"
        "22 555 01 17,,,,\n"
    )

    given = imported(text)

    assert entries() == {("+48225550117", False, None), ("+4870", True, None), ("+48225550118", False, "DEMO1")}
    entry = DoNotCall.objects.get(number="+48225550117")
    assert (entry.until, entry.reason) == (None, "Asked.")
    assert DoNotCall.objects.get(number="+48225550118").until is not None
    assert (given.read_count, given.added_count, given.duplicate_count, given.faulty_count) == (4, 3, 1, 0)
    assert given.progress_percent == 100


def test_faulty_rows_are_kept_with_their_reasons():
    given = imported("number,outbound_id\nnobody,\n22 555 01 17,\n22 555 01 18,XXXXX\n")

    assert entries() == {("+48225550117", False, None)}
    assert (given.added_count, given.faulty_count) == (1, 2)
    with given.error_file.open() as file:
        header, *rows = file.read().decode("utf-8-sig").splitlines()
    assert header == "line,error,number,outbound_id"
    assert [row.split(",")[0] for row in rows] == ["2", "4"]
    assert "A phone number has no letters." in rows[0]
    assert "There is no campaign with this id." in rows[1]


def test_a_removal_deletes_the_entries_and_frees_their_records():
    campaign = CampaignFactory(code="DEMO1")
    for number, is_prefix in (("+48225550117", False), ("+4870", True), ("+48225550119", False)):
        DoNotCallFactory(phone_number=number, number=number, is_prefix=is_prefix)
    DoNotCallFactory(phone_number="+48225550117", number="+48225550117", campaign=campaign)
    freed = [RecordFactory(phone_number=number, held_until=FOR_GOOD) for number in ("+48225550117", "+48701234567")]
    freed.append(RecordFactory(held_until=FOR_GOOD))
    AdditionalNumberFactory(record=freed[-1], phone_number="+48225550117")
    held = RecordFactory(phone_number="+48225550119", held_until=FOR_GOOD)

    given = imported("number,prefix\n22 555 01 17,\n,+48 70\n22 555 99 99,\n", target="removal")

    assert entries() == {("+48225550119", False, None), ("+48225550117", False, "DEMO1")}
    assert (given.added_count, given.duplicate_count) == (2, 1)
    free = Record.objects.filter(held_until=None)
    assert set(free) == set(freed)
    assert not free.filter(pk=held.pk).exists()


def test_a_file_without_a_column_of_numbers_is_refused():
    response = upload("name,city\nAnna,Gdynia\n")

    assert response.status_code == 200
    assert "The file needs a column named number, phone_number or prefix." in response.content.decode()
    assert not RecordImport.objects.exists()


@pytest.mark.parametrize(("target", "status"), [("do_not_call", 302), ("removal", 403)])
def test_a_removal_needs_the_right_to_delete(target, status):
    client = staff("add_recordimport", "add_donotcall")

    assert upload("number\n22 555 01 17\n", client, target=target).status_code == status


def test_the_state_of_the_import_says_what_was_done():
    given = imported("number\n22 555 01 17\n")

    shown = superuser().page(reverse("admin:campaigns_recordimport_change", args=[given.pk]))

    assert "entries added or extended" in shown
    assert "do-not-call entries, to add" in shown
