"""The commands that run until they are told to end."""

import signal
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from callcentre.checks import refuse_unsafe_settings


class ProcessCommand(BaseCommand):
    """A command that runs one worker. SIGTERM and Ctrl-C ask the worker to stop."""

    worker: type[Any]
    # Only the checks of the settings are made, below: the others load modules that these processes never use.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_unsafe_settings()
        worker = self.worker()

        def stop(number: int, frame: FrameType | None) -> None:
            worker.is_stopping = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        worker.run()
