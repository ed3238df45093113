"""The dialler as a process that writes the processor time of its ticks to TICKS_FILE when it is stopped."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")
django.setup()

from campaigns.dialling.dialler import Dialler  # noqa: E402


class TimedDialler(Dialler):
    """Measures each tick that has campaigns to dial."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def tick(self) -> None:
        started = time.process_time()
        super().tick()
        if self._ticks:
            self.seconds.append(time.process_time() - started)


def main() -> None:
    dialler = TimedDialler()

    def stop(*args: Any) -> None:
        dialler.is_stopping = True

    signal.signal(signal.SIGTERM, stop)
    dialler.run()
    Path(os.environ["TICKS_FILE"]).write_text(json.dumps(dialler.seconds))


if __name__ == "__main__":
    main()
