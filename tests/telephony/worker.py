"""A worker that dies at a given point: `DIES=before` or `DIES=after` the request to call an agent."""

import os
import signal
from typing import Any

from celery.signals import celeryd_after_setup

from callcentre.celery import app

__all__ = ["app"]


@celeryd_after_setup.connect
def die(**kwargs: Any) -> None:
    from telephony.switch.asterisk import AsteriskSwitch

    moment, real = os.environ.get("DIES"), AsteriskSwitch.call_agent

    def call_agent(self: AsteriskSwitch, *args: Any, **values: Any) -> None:
        if moment == "after":
            real(self, *args, **values)
        os.kill(os.getpid(), signal.SIGKILL)

    if moment:
        AsteriskSwitch.call_agent = call_agent  # type: ignore[method-assign]
