"""A listener as a process that dies at a given step of a dialled call: `DIES=` one of STEPS."""

import os
from typing import Any

from tests.telephony import listening  # noqa: F401  (sets up Django, with short waits)

from django.core.management import call_command  # isort: skip

from campaigns.dialling import outcomes
from telephony.calls import dialler_calls, switch_events
from telephony.switch.asterisk import AsteriskSwitch
from tests.campaigns.dialling.processes import dying

STEPS: dict[str, tuple[Any, str, bool]] = {
    "ringing": (switch_events, "ringing", True),
    "answered": (dialler_calls, "find_agent", False),
    "matched": (AsteriskSwitch, "join", False),
    "joined": (AsteriskSwitch, "join", True),
    "ending": (outcomes.Hooks, "ended", True),
    "ended": (AsteriskSwitch, "destroy_bridge", False),
}

if __name__ == "__main__":
    owner, name, after = STEPS[os.environ["DIES"]]
    dying(owner, name, after=after)
    call_command("listen_to_switch")
