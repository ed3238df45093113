from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from callcentre.core.actor import SYSTEM
from callcentre.models import RIGHTS, ApiUser


class Command(BaseCommand):
    help = "Create an API user and print its secret, which cannot be read again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("login")
        parser.add_argument(
            "--right",
            action="append",
            default=[],
            dest="rights",
            metavar="AREA:read|write",
            help=f"may be repeated; one of {', '.join(RIGHTS)}",
        )
        parser.add_argument("--network", action="append", default=[], dest="networks", metavar="CIDR")
        parser.add_argument("--description", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        if unknown := sorted(set(options["rights"]) - set(RIGHTS)):
            raise CommandError(f"No such right: {', '.join(unknown)}. There are: {', '.join(RIGHTS)}.")
        try:
            _, secret = ApiUser.create(
                SYSTEM,
                options["login"],
                rights=options["rights"],
                allowed_networks=options["networks"],
                description=options["description"],
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(secret)
