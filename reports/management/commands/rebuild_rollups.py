import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
from tqdm import tqdm

from callcentre.core.statements import rows_of
from reports import rollups
from reports.periods import FIRST, LAST

PATIENCE_SECONDS = 0.5
_HOURS_LEFT = """
SELECT COALESCE(sum(1 + extract(epoch FROM LEAST(until, %s) - GREATEST(since, %s)) / 3600), 0)::bigint
FROM telephony_ledgerchange
"""
_IS_REBUILDING = "SELECT EXISTS (SELECT FROM telephony_ledgerchange WHERE until - since > interval '31 days')"


class Command(BaseCommand):
    help = (
        "Sums every rollup of the report anew, from the ledgers, after TIME_ZONE was changed. Reports are right"
        " meanwhile, and slower. One that was interrupted is gone on with."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--anew", action="store_true", help="begin again, also where one was interrupted")

    def handle(self, *args: Any, anew: bool = False, **options: Any) -> None:
        if (span := rollups.bounds()) is None:
            self.stdout.write("There is nothing to sum.")
            return
        # Entries are left that are longer than anything an agent does.
        if rows_of(_IS_REBUILDING)[0][0] and not anew:
            self.stdout.write("Going on where it was interrupted.")
        else:
            rollups.log_everything(*span)
        total = hours_left()
        with tqdm(total=total, desc="hours of agents", unit="", file=sys.stderr) as bar:
            while not self._sum():
                # Others may have added work, and another worker that sums meanwhile helps.
                total = bar.total = max(total, remaining := hours_left())
                bar.n = total - remaining
                bar.refresh()
            # The worker sums what changed just now.
            bar.n = total

    def _sum(self) -> bool:
        """Sum a portion. Return True if nothing is left."""
        with rollups.alone() as is_alone:
            if is_alone:
                return not rollups.refresh() and not rollups.settle(timezone.now())
        time.sleep(PATIENCE_SECONDS)
        return False


def hours_left() -> int:
    """Count the hours of agents that the log names; an hour that several entries name counts as often."""
    return int(rows_of(_HOURS_LEFT, [LAST, FIRST])[0][0])
