"""Switches, which carry the calls. The setting SWITCH_BACKEND chooses one."""

from functools import cache

from django.conf import settings
from django.utils.module_loading import import_string

from telephony.switch.base import Switch

BACKENDS = {
    "simulated": "telephony.switch.simulated.SimulatedSwitch",
    "asterisk": "telephony.switch.asterisk.AsteriskSwitch",
}


def current_switch() -> Switch:
    """Return the switch of the settings. All threads of this process share it."""
    return _made(settings.SWITCH_BACKEND)


@cache
def _made(backend: str) -> Switch:
    switch: Switch = import_string(BACKENDS.get(backend, backend))()
    return switch
