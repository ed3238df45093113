import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from callcentre.core.audit import AuditAction, record
from callcentre.core.errors import Invalid
from callcentre.management.terminal import terminal_actor
from campaigns.exporting import export_rows
from campaigns.importing.formats import delimiter_named
from campaigns.models import Campaign


class Command(BaseCommand):
    help = "Write the records of a campaign with their results as CSV (UTF-8), to a file or to standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="its id, five letters or digits")
        parser.add_argument("file", type=Path, nargs="?", help="standard output if left out")
        parser.add_argument("--delimiter", default="comma", help="comma, semicolon, tab or pipe")

    def handle(self, *args: Any, **options: Any) -> None:
        campaign = Campaign.objects.filter(code=options["campaign"]).first()
        if campaign is None:
            raise CommandError(f"There is no campaign {options['campaign']}.")
        try:
            blocks = export_rows(campaign, delimiter_named(options["delimiter"]))
        except Invalid as error:
            raise CommandError(" ".join(error.messages)) from error
        record(terminal_actor("export_records"), AuditAction.EXPORT, campaign)
        path: Path | None = options["file"]
        if path is None:
            with suppress(BrokenPipeError):  # the reader has closed the pipe
                for block in blocks:
                    sys.stdout.buffer.write(block)
                sys.stdout.buffer.flush()
            return
        # Under another name until it is complete, because half a file looks like an export.
        unfinished = path.with_name(f"{path.name}.part")
        try:
            unfinished.touch(mode=0o600)
            with unfinished.open("wb") as file:
                file.writelines(blocks)
            unfinished.replace(path)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from error
        finally:
            unfinished.unlink(missing_ok=True)
