import json
from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction
from django.utils.module_loading import autodiscover_modules

from callcentre.core.accounts import ACCOUNTS, MOST, Account

# The lines of an account that a report shows.
SHOWN = 10


class Command(BaseCommand):
    help = (
        "Prove that nothing is lost or stuck: calls, agents, records, events, mails, tickets, due work, files, rollups."
        " It reads only, and may run while the service does. It ends with 1 if something is wrong; it repairs nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--without-files", action="store_true", help="do not look for each file in the storage")
        parser.add_argument("--json", action="store_true", help="a line of JSON for each account")

    def handle(self, *args: Any, **options: Any) -> None:
        autodiscover_modules("accounts")
        wrong = 0
        for account in ACCOUNTS:
            if not (account.reads_files and options["without_files"]):
                found = self._find(account)
                wrong += bool(found)
                (self._write_json if options["json"] else self._write)(account, found)
        if wrong:
            raise CommandError(f"{wrong} of the accounts are wrong: docs/operations.md says what to do.")

    def _find(self, account: Account) -> list[str]:
        # A transaction that has begun already, as in a test, decides for itself what it reads.
        if account.reads_files or connection.in_atomic_block:
            return list(islice(account.find(), MOST + 1))
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return list(islice(account.find(), MOST + 1))

    def _write(self, account: Account, found: list[str]) -> None:
        if not found:
            self.stdout.write(f"ok     {account.name}: {account.sentence}")
            return
        count = f"more than {MOST}" if len(found) > MOST else len(found)
        self.stdout.write(f"WRONG  {account.name}: {count} rows. It should hold: {account.sentence}")
        for line in found[:SHOWN]:
            self.stdout.write(f"         {line}")

    def _write_json(self, account: Account, found: list[str]) -> None:
        self.stdout.write(json.dumps({"account": account.name, "wrong": len(found), "rows": found[:SHOWN]}))
