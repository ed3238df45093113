import signal
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from callcentre.checks import refuse_unsafe_settings
from telephony.listener import Listener


class Command(BaseCommand):
    help = (
        "Hear the switch and carry out what calls need. One process does it; further ones wait to take its place. "
        "Ends on SIGTERM and Ctrl-C."
    )

    # Only the checks of the settings are made, below: the others load modules that this process never uses.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_unsafe_settings()
        listener = Listener()

        def stop(number: int, frame: FrameType | None) -> None:
            listener.is_stopping = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        listener.run()
