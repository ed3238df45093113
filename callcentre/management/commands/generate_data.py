import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from callcentre.demonstration.load import articles, calls, records, tickets

# Kind of data -> function that generates it.
GENERATORS: dict[str, Callable[[int], None]] = {
    "records": records.generate,
    "connections": calls.generate,
    "tickets": tickets.generate,
    "articles": articles.generate,
}


class Command(BaseCommand):
    help = "Fill the database with realistic data in bulk, for load tests. Not for a database that people work with."

    def add_arguments(self, parser: CommandParser) -> None:
        for name in GENERATORS:
            parser.add_argument(f"--{name}", type=int, default=0, metavar="N", help=f"how many {name} to add")

    def handle(self, *args: Any, **options: Any) -> None:
        for name, generate in GENERATORS.items():
            if (count := options[name]) > 0:
                started = time.monotonic()
                generate(count)
                self.stdout.write(f"{count:,} {name} in {time.monotonic() - started:.0f} s")
