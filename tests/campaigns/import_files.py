"""Imports of texts without a worker."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import transaction

from campaigns.importing.columns import columns_named, guess_columns
from campaigns.importing.formats import guess_format
from campaigns.importing.import_run import load, write_errors
from campaigns.importing.merge import Progress, Totals
from campaigns.importing.rows import Rows
from campaigns.models import Campaign, Record, RecordImport
from campaigns.models.rules import CampaignFacts


@dataclass
class Outcome:
    totals: Totals
    # The rows of the error file: line, message and cells.
    errors: list[list[str]]

    @property
    def messages(self) -> list[str]:
        return [message for _, message, *_ in self.errors]


def facts_of(campaign: Campaign) -> CampaignFacts:
    facts = CampaignFacts.read(campaign.code)
    assert facts is not None
    return facts


def import_text(
    campaign: Campaign,
    content: str | bytes,
    *,
    encoding: str = "",
    delimiter: str = "",
    has_header: bool = True,
    columns: str = "",
    **values: Any,
) -> Outcome:
    """Import a file with this content; guess its format and columns unless they are given."""
    facts = facts_of(campaign)
    file = io.BytesIO(content.encode() if isinstance(content, str) else content)
    form = guess_format(file, encoding=encoding, delimiter=delimiter, has_header=has_header)
    with Rows(file, form) as rows:
        header = rows.header
    chosen = columns_named(columns, header, facts) if columns else guess_columns(header, facts)
    given = RecordImport.objects.create(
        campaign=campaign,
        file_name="records.csv",
        file_size=len(file.getvalue()),
        encoding=form.encoding,
        delimiter=form.delimiter,
        has_header=form.has_header,
        columns={str(position): target for position, target in chosen.items()},
        **values,
    )
    written = io.StringIO()
    with transaction.atomic():
        totals, merge = load(facts, given, file, Progress())
        if totals.refused:
            write_errors(given, file, merge, written)
    rows_written = [*csv.reader(io.StringIO(written.getvalue()), delimiter=form.delimiter)]
    return Outcome(totals, rows_written[1 if has_header else 0 :])


def import_by_command(
    folder: Path, content: str | bytes | None, *arguments: str, code: str = "DEMO1", name: str = "records.csv"
) -> str:
    """Import a file with this content by the command, and return what it prints."""
    if content is not None:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    output = io.StringIO()
    call_command("import_records", code, str(folder / name), *arguments, stdout=output)
    return output.getvalue()


def numbers_of(campaign: Campaign) -> list[str]:
    return list(Record.objects.filter(campaign=campaign).order_by("id").values_list("number", flat=True))


def field_values(campaign: Campaign, name: str) -> list[str]:
    key = facts_of(campaign).fields[name]
    return [record.fields.get(key, "") for record in Record.objects.filter(campaign=campaign).order_by("id")]
