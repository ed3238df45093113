import signal
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from callcentre.checks import refuse_unsafe_settings
from campaigns.dialling.dialler import Dialler


class Command(BaseCommand):
    help = (
        "Call the records of campaigns for their free agents. Several processes share the campaigns. "
        "Ends on SIGTERM and Ctrl-C."
    )

    # Only the checks of the settings are made, below: the others load modules that this process never uses.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_unsafe_settings()
        dialler = Dialler()

        def stop(number: int, frame: FrameType | None) -> None:
            dialler.is_stopping = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        dialler.run()
