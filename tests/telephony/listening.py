"""The listener with short waits, as a process that tests start and kill: `python -m tests.telephony.listening`."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from telephony import listener  # noqa: E402
from telephony.calls import placement  # noqa: E402

listener.CALM_SECONDS, listener.DOUBT_SECONDS, listener.PAUSE_SECONDS = 2.0, 0.5, 0.5
# In tests of the worker, the listener leaves calls to the worker.
placement.OVERDUE_SECONDS = float(os.environ.get("OVERDUE_SECONDS") or placement.OVERDUE_SECONDS)

if __name__ == "__main__":
    call_command("listen_to_switch")
