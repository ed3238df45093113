from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from callcentre.core.integers import integer_of
from telephony.models import Menu, Queue
from telephony.switch.base import SwitchError
from telephony.switch.simulated import SimulatedSwitch


class Command(BaseCommand):
    help = "Simulates calls to a queue or a menu on the simulated switch. Several numbers call at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "queue", metavar="QUEUE", help="name or id of a queue, or name of a menu, that has a number"
        )
        parser.add_argument("numbers", metavar="NUMBER", nargs="+", help="who calls")
        parser.add_argument("--gives-up-after", type=float, metavar="SECONDS", help="time without an agent; default 60")
        parser.add_argument(
            "--keys", default="", help="keys that each caller presses before an agent answers, one every two seconds"
        )
        parser.add_argument(
            "--talks-for", type=float, metavar="SECONDS", help="time before the caller hangs up; default 2 to 4"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.SWITCH_BACKEND != "simulated":
            raise CommandError(f"Calls are not simulated here: SWITCH_BACKEND is {settings.SWITCH_BACKEND}.")
        called = _called(options["queue"])
        switch = SimulatedSwitch()
        for number in options["numbers"]:
            try:
                channel_id = switch.arrive(
                    number,
                    called.number,
                    patience=options["gives_up_after"],
                    talk=options["talks_for"],
                    keys=options["keys"],
                )
            except SwitchError as error:
                raise CommandError(str(error)) from error
            self.stdout.write(f"{number} calls {called.name} ({called.number}): channel {channel_id}")


def _called(name: str) -> Queue | Menu:
    queue = Queue.objects.filter(Q(name=name) | Q(pk=integer_of(name))).first()
    called = queue or Menu.objects.filter(name=name).first()
    if called is None:
        raise CommandError(f"There is no queue {name!r}, and no menu.")
    if not called.number:
        raise CommandError(f"{called.name} has no number by which it could be called.")
    return called
