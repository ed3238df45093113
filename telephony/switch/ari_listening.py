"""Supervisors in calls at Asterisk: a channel that snoops on the customer's, and a second bridge with the supervisor.

What is said into the snooping channel reaches the bridge of the call as if the customer had said it: the customer alone
does not hear it. The channel ends with the customer's, and not with the supervisor's.
"""

import time
from contextlib import suppress

from telephony.channels import snoop_of
from telephony.switch.ari import Ari, AriError

# How long a snooping channel may need to enter our application.
ENTER_SECONDS, LOOK_SECONDS = 1.0, 0.01


def listen(ari: Ari, app: str, channel_id: str, customer: str, *, is_heard: bool) -> None:
    """Put the supervisor and a snooping channel into a bridge, which has the id of the supervisor's channel."""
    if not is_heard:
        ari.send("POST", "channels", channel_id, "mute", direction="in")
    snoop = snoop_of(channel_id)
    if ari.send_if_there("GET", "channels", snoop) is None:
        ari.send("POST", "channels", customer, "snoop", spy="both", whisper="in", app=app, snoopId=snoop)
    if ari.send_if_there("GET", "bridges", channel_id) is None:
        ari.send("POST", "bridges", type="mixing", bridgeId=channel_id)
    _add(ari, channel_id, f"{channel_id},{snoop}")
    if is_heard:
        ari.send("DELETE", "channels", channel_id, "mute", direction="in")


def _add(ari: Ari, bridge_id: str, channels: str) -> None:
    deadline = time.monotonic() + ENTER_SECONDS
    while True:
        try:
            ari.send("POST", "bridges", bridge_id, "addChannel", channel=channels, inhibitConnectedLineUpdates="true")
        except AriError as error:
            # 422: the snooping channel is not in the application yet.
            if error.status not in (409, 422) or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_SECONDS)
        else:
            return


def barge(ari: Ari, channel_id: str, bridge_id: str) -> None:
    ari.send("DELETE", "channels", channel_id, "mute", direction="in")
    ari.send("POST", "bridges", bridge_id, "addChannel", channel=channel_id, inhibitConnectedLineUpdates="true")


def stop(ari: Ari, channel_id: str) -> None:
    ari.send_if_there("DELETE", "channels", snoop_of(channel_id))
    ari.send_if_there("DELETE", "bridges", channel_id)
    # Refused if the phone was not picked up, or is gone.
    with suppress(AriError):
        ari.send("DELETE", "channels", channel_id, "mute", direction="in")
