"""The switch that the settings name; the other modules are the kinds that there are."""

from functools import lru_cache
from typing import cast

from django.conf import settings
from django.utils.module_loading import import_string

from telephony.switch.base import Switch


@lru_cache(maxsize=1)
def current_switch() -> Switch:
    """One object a process: it keeps its connections."""
    return cast("Switch", import_string(settings.SWITCH_CLASS)())
