"""A dialler as a process that dies at a given step: `DIES=reserved`, `written`, `committed` or `asked`."""

import os
import signal
from datetime import timedelta
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from campaigns.dialling import choice, dials  # noqa: E402
from telephony.switch.asterisk import AsteriskSwitch  # noqa: E402

# A reservation of a dead process is over soon.
choice.RESERVATION = timedelta(seconds=2)


def dying(owner: Any, name: str, *, after: bool) -> None:
    """Let the process die before or after this function."""
    real = getattr(owner, name)

    def die(*args: Any, **values: Any) -> None:
        if after:
            real(*args, **values)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, die)


STEPS: dict[str, tuple[Any, str, bool]] = {
    "reserved": (dials, "dial_with_agent", False),
    "written": (dials, "_begin", True),
    "committed": (AsteriskSwitch, "call_agent", False),
    "asked": (AsteriskSwitch, "call_agent", True),
}

if __name__ == "__main__":
    if step := os.environ.get("DIES"):
        owner, name, after = STEPS[step]
        dying(owner, name, after=after)
    call_command("run_dialer")
