import threading
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone
from tqdm import tqdm

from callcentre.core.changes import actor_columns
from callcentre.core.due_work import LEASE, Claim
from callcentre.core.errors import Invalid
from callcentre.management.terminal import terminal_actor
from campaigns.importing.columns import check_choices, columns_named, guess_columns
from campaigns.importing.formats import delimiter_named, encoding_named, guess_format
from campaigns.importing.import_run import Interrupted, load, run_claimed, write_errors
from campaigns.importing.merge import Progress, Totals
from campaigns.importing.rows import Rows
from campaigns.models import Campaign, RecordImport
from campaigns.models.imports import default_region
from campaigns.models.rules import CampaignFacts

_BAR = "{desc} {percentage:3.0f}% |{bar}| {postfix} {elapsed}"


class Command(BaseCommand):
    help = (
        "Add the rows of a CSV file to a campaign, all at once at the end. Refused rows are written to an error file "
        "with their line and the reason; the exit code is 0 nevertheless."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="its id, five letters or digits")
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--dry-run", action="store_true", help="roll everything back at the end: count what would be added"
        )
        parser.add_argument(
            "--allow-duplicates",
            action="store_true",
            help="add numbers of existing records again; they are left out otherwise",
        )
        parser.add_argument(
            "--refuse-invalid",
            action="store_true",
            help="refuse numbers that are not valid in their country; otherwise a possible length is enough",
        )
        parser.add_argument(
            "--errors",
            type=Path,
            metavar="FILE",
            help="write refused rows to this file; otherwise they are stored with the import",
        )
        parser.add_argument("--region", default="", metavar="PL", help="region of national numbers")
        parser.add_argument("--delimiter", default="", help="comma, semicolon, tab or pipe; guessed otherwise")
        parser.add_argument("--encoding", default="", help="utf-8, utf-16, cp1250, …; guessed otherwise")
        parser.add_argument(
            "--columns",
            default="",
            help="what each column is, by position (phone_number,,city) or by name (Telefon=phone_number,Miasto=city); "
            "otherwise taken from the first row",
        )
        parser.add_argument("--no-header", action="store_true", help="the first row is a record")
        parser.add_argument("--events", action="store_true", help="record an event for each record")

    def handle(self, *args: Any, **options: Any) -> None:
        campaign = Campaign.objects.filter(code=options["campaign"]).first()
        facts = CampaignFacts.read(options["campaign"])
        if campaign is None or facts is None:
            raise CommandError(f"There is no campaign {options['campaign']}.")
        path: Path = options["file"]
        try:
            if options["errors"] is not None:
                options["errors"].touch(mode=0o600)
                options["errors"].open("ab").close()  # fails now instead of at the end if the file cannot be written
            with path.open("rb") as file:
                given = self._describe(campaign, facts, path, file, options)
                with _bar() as progress:
                    if options["dry_run"]:
                        totals = self._rehearse(facts, given, file, options["errors"], progress)
                    else:
                        given, totals = self._import(given, file, options["errors"], progress)
        except OSError as error:
            raise CommandError(f"{error.filename or path}: {error.strerror}") from error
        except Invalid as error:
            raise CommandError(" ".join(error.messages)) from error
        self._summarise(given, totals, options)

    def _describe(
        self, campaign: Campaign, facts: CampaignFacts, path: Path, file: BinaryIO, options: dict[str, Any]
    ) -> RecordImport:
        """Describe the file by the options, and guess the rest from its content."""
        form = guess_format(
            file,
            encoding=encoding_named(options["encoding"]) if options["encoding"] else "",
            delimiter=delimiter_named(options["delimiter"]) if options["delimiter"] else "",
            has_header=not options["no_header"],
        )
        with Rows(file, form) as rows:
            header = rows.header
        if options["columns"]:
            columns = columns_named(options["columns"], header, facts)
        else:
            columns = guess_columns(header, facts)
        region = options["region"].upper() or default_region()
        if faults := check_choices(columns, region, facts):
            named = ", ".join(name.strip() for name in header) or "none: --no-header was given"
            raise CommandError(
                " ".join(fault.message for fault in faults)
                + f" Columns of the file: {named}. --columns says what they are."
            )
        return RecordImport(
            campaign=campaign,
            file_name=path.name[-200:],
            file_size=path.stat().st_size,
            encoding=form.encoding,
            delimiter=form.delimiter,
            has_header=form.has_header,
            columns={str(position): target for position, target in columns.items()},
            region=region,
            duplicates=RecordImport.Duplicates.ALLOW if options["allow_duplicates"] else RecordImport.Duplicates.SKIP,
            refuses_invalid=options["refuse_invalid"],
            records_events=options["events"],
            # It is born claimed: no worker has its file.
            state=RecordImport.State.RUNNING,
            attempt_count=1,
            next_attempt_at=timezone.now() + LEASE,
            **actor_columns(terminal_actor("import_records")),
        )

    def _rehearse(
        self, facts: CampaignFacts, given: RecordImport, file: BinaryIO, errors: Path | None, progress: Progress
    ) -> Totals:
        """Run the whole import and roll it back, so that the counts are exact."""
        with transaction.atomic():
            totals, merge = load(facts, given, file, progress)
            if errors is not None:
                with errors.open("w", encoding="utf-8-sig", newline="") as output:
                    write_errors(given, file, merge, output)
            transaction.set_rollback(True)
        return totals

    def _import(
        self, given: RecordImport, file: BinaryIO, errors: Path | None, progress: Progress
    ) -> tuple[RecordImport, Totals]:
        given.save(force_insert=True)
        try:
            done = run_claimed(Claim(given), file, errors, progress)
        except Interrupted as error:
            message = "The database went away, or another transaction had to go first."
            raise CommandError(f"{message} Nothing was imported; start it again.") from error
        if done.state != RecordImport.State.FINISHED:
            raise CommandError(f"{done.message or 'It was taken over.'} Nothing was imported.")
        return done, Totals(done.read_count, done.added_count, done.duplicate_count, done.faulty_count)

    def _summarise(self, given: RecordImport, totals: Totals, options: dict[str, Any]) -> None:
        added = "would be added" if options["dry_run"] else "added"
        self.stdout.write(
            f"{totals.read:,} rows read: {totals.added:,} {added}, "
            f"{totals.duplicates:,} left out as duplicates, {totals.faulty:,} faulty."
        )
        if totals.refused and options["errors"]:
            self.stdout.write(f"The rows that were not imported, and why: {options['errors']}")
        elif totals.refused and given.error_file:
            self.stdout.write(f"The rows that were not imported, and why: {given.error_file.path}")
        elif totals.refused:
            self.stdout.write("--errors FILE writes the rows that would not be imported, and why.")
        if given.records_events and not options["dry_run"]:
            self.stdout.write("An event was recorded for each record.")


@contextmanager
def _bar() -> Iterator[Progress]:
    """Show a progress bar if the output is a terminal."""
    progress = Progress()
    ended = threading.Event()

    def draw() -> None:
        with tqdm(total=100, unit="%", disable=None, leave=False, bar_format=_BAR) as bar:
            while not ended.wait(0.2):
                bar.set_description("merging" if progress.slices else "reading", refresh=False)
                bar.set_postfix_str(f"{progress.rows:,} rows", refresh=False)
                bar.update(progress.percent - bar.n)
                bar.refresh()

    thread = threading.Thread(target=draw, name="progress-bar", daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        ended.set()
        thread.join()
