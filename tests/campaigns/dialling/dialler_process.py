"""A dialler as a process that dies at a given step: `DIES=` one of STEPS."""

import os
from datetime import timedelta
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from campaigns.dialling import choice, dials  # noqa: E402
from telephony.switch.asterisk import AsteriskSwitch  # noqa: E402
from tests.campaigns.dialling.processes import dying  # noqa: E402

# A reservation of a dead process is over soon.
choice.RESERVATION = timedelta(seconds=2)


STEPS: dict[str, tuple[Any, str, bool]] = {
    "reserved": (dials, "dial", False),
    "written": (dials, "_begin", True),
    "committed": (AsteriskSwitch, "call_agent", False),
    "asked": (AsteriskSwitch, "call_agent", True),
    # Of calls before an agent is known.
    "reserved ahead": (dials, "dial", False),
    "committed ahead": (AsteriskSwitch, "call_number", False),
    "asked ahead": (AsteriskSwitch, "call_number", True),
}

if __name__ == "__main__":
    if step := os.environ.get("DIES"):
        owner, name, after = STEPS[step]
        dying(owner, name, after=after)
    call_command("run_dialer")
