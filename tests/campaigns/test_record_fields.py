"""The table of a record's fields: the statements that are composed of it are spelled out in record_fields.sql."""

from datetime import UTC, datetime
from pathlib import Path

from callcentre.core.field_tables import differences
from campaigns.api.serializers import RecordEditInput, RecordInput, RecordPutInput
from campaigns.importing import merge
from campaigns.models import record_rows
from campaigns.models.record_fields import RECORD_FIELDS
from campaigns.models.rules import Draft, StatusFact
from campaigns.verbs import new_records, record_edits

STATUS = StatusFact(7, "To be called", "TO_CALL", None)


def test_composed_statements():
    statements = {
        "Read a record": record_rows.SELECT,
        "Add records": new_records.INSERT,
        "Lock records to edit them": record_edits.LOCK,
        "Edit records": record_edits.CHANGES,
        "Stage the rows of an import": merge.STAGE,
    }
    composed = "\n\n".join(f"-- {title}\n{sql.strip()}" for title, sql in statements.items())
    print(composed)
    assert f"{composed}\n" == Path(__file__).with_name("record_fields.sql").read_text()


def test_accepted_names_of_each_input():
    batch_edit = {"status_id", "dictionary_status_id", "agent_login", "next_call_date", "record_fields"}
    more = {"identifier", "order", "additional_numbers"}
    assert RecordEditInput.plan().keys() == batch_edit
    assert RecordPutInput.plan().keys() == batch_edit | more | {"note"}
    assert RecordInput.plan().keys() == batch_edit | more | {"phone_number"}


def test_differences_for_the_history():
    before = Draft(STATUS, 3, "anna", {"1": "Gdynia", "2": "Ala"}, order=5)
    after = Draft(STATUS, None, "", {"1": "Sopot", "2": "Ala"}, order=5, next_call_at=datetime(2030, 7, 1, tzinfo=UTC))
    assert differences(RECORD_FIELDS, before, after) == {
        "agent_login": ["anna", ""],
        "next_call_at": [None, "2030-07-01T00:00:00+00:00"],
        "fields": [{"1": "Gdynia"}, {"1": "Sopot"}],
    }
