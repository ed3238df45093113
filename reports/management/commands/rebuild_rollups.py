import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
from tqdm import tqdm

from reports import ledgers, rollup, settling
from telephony.verbs import ledger_changes

PATIENCE_SECONDS = 0.5


class Command(BaseCommand):
    help = (
        "Sums every rollup of the report anew, from the ledgers: after rows were filled in by hand, or TIME_ZONE was"
        " changed. Reports are right meanwhile, and slower. One that was interrupted is gone on with."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--anew", action="store_true", help="begin again, also where one was interrupted")

    def handle(self, *args: Any, anew: bool = False, **options: Any) -> None:
        if (span := ledgers.bounds()) is None:
            self.stdout.write("There is nothing to sum.")
            return
        if rollup.is_rebuilding() and not anew:
            self.stdout.write("Going on where it was interrupted.")
        else:
            ledger_changes.record_everything(*span)
        self._work("hours of agents", rollup.hours_left, rollup.refresh)
        now = timezone.now()
        self._work("longer periods", lambda: settling.left(now), lambda: settling.settle_all(now, most=1))

    def _work(self, what: str, left: Callable[[], int], act: Callable[[], int]) -> None:
        """Act until nothing is left; whoever else does so meanwhile helps."""
        total = left()
        with tqdm(total=total, desc=what, unit="", file=sys.stderr) as bar:
            while True:
                with rollup.alone() as is_alone:
                    is_done = is_alone and not act()
                # Others may have added to it.
                total = bar.total = max(total, remaining := left())
                bar.n = total - remaining
                bar.refresh()
                if is_done:
                    # What changed just now is the worker's.
                    bar.total = bar.n
                    return
                if not is_alone:
                    time.sleep(PATIENCE_SECONDS)
