"""Switches: what carries the calls. The setting SWITCH_BACKEND says which."""

from functools import cache

from django.conf import settings
from django.utils.module_loading import import_string

from telephony.switch.base import Switch

BACKENDS = {
    "simulated": "telephony.switch.simulated.SimulatedSwitch",
    "asterisk": "telephony.switch.asterisk.AsteriskSwitch",
}


def current_switch() -> Switch:
    """The switch of the settings: one for all threads of this process."""
    return _made(settings.SWITCH_BACKEND)


@cache
def _made(backend: str) -> Switch:
    switch: Switch = import_string(BACKENDS.get(backend, backend))()
    return switch
