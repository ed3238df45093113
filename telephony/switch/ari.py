"""Requests to the REST interface of Asterisk: time-outs, refusals, connections; listening to calls; missed callers."""

import re
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import requests

from telephony.channels import snoop_of
from telephony.switch.base import Missed, SwitchError, SwitchUnreachable

# To connect, and between two pieces of an answer.
TIMEOUTS_SECONDS = (2.0, 5.0)
# Asterisk closes a connection after 15 s without a request. If it closed one while we write, we would not know whether
# a call was placed. So we close ours long before.
IDLE_SECONDS = 5.0


class AriError(SwitchError):
    """A refusal by Asterisk, with the status of its answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Ari:
    """A client that keeps an open connection for each thread."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url = url.rstrip("/")
        self._auth = (user.encode(), password.encode())
        self._of_thread = threading.local()

    def send(self, method: str, *path: str, **parameters: str | int) -> requests.Response:
        return self._request(method, path, parameters)

    def send_body(self, method: str, *path: str, body: Any, **parameters: str | int) -> requests.Response:
        """Send a request with a body of JSON, or with none if `body` is None."""
        return self._request(method, path, parameters, body=body)

    def open(self, *path: str) -> requests.Response:
        """Return the answer of a GET, to be read piece by piece and closed."""
        return self._request("GET", path, {}, stream=True)

    def send_if_there(self, method: str, *path: str, **parameters: str | int) -> Any:
        """Return the answer's JSON; None if it has none, or on 404."""
        try:
            response = self.send(method, *path, **parameters)
        except AriError as error:
            if error.status == 404:
                return None
            raise
        return response.json() if response.content else None

    def add_to_bridge(self, bridge_id: str, *channel_ids: str) -> None:
        """Move channels into a bridge. A customer does not learn the number of the agent's phone."""
        channels = {"channel": ",".join(channel_ids), "inhibitConnectedLineUpdates": "true"}
        self.send("POST", "bridges", bridge_id, "addChannel", **channels)

    def _request(
        self,
        method: str,
        path: Sequence[str],
        parameters: Mapping[str, str | int],
        *,
        body: Any = None,
        stream: bool = False,
    ) -> requests.Response:
        url = "/".join([self._url, *(quote(part, safe="") for part in path)])
        try:
            values: dict[str, Any] = {"params": parameters, "json": body, "timeout": TIMEOUTS_SECONDS}
            response = self._session().request(method, url, **values, stream=stream, allow_redirects=False)
        except requests.RequestException as error:
            raise SwitchUnreachable(f"Asterisk does not answer: {type(error).__name__}.") from error
        if response.ok:
            return response
        with response:
            if response.status_code == 503:
                raise SwitchUnreachable("Asterisk has not started yet.")
            raise AriError(_reason(response), response.status_code)

    def _session(self) -> requests.Session:
        here, now = self._of_thread, time.monotonic()
        if not hasattr(here, "session"):
            here.session = requests.Session()
            here.session.auth = self._auth
            # Ignore proxies of the environment and .netrc.
            here.session.trust_env = False
        elif now - here.used_at > IDLE_SECONDS:
            here.session.close()
        here.used_at = now
        session: requests.Session = here.session
        return session


def _reason(response: requests.Response) -> str:
    try:
        answer = response.json()
        reason = answer.get("message") or answer.get("error")
    except (ValueError, AttributeError):
        reason = None
    return f"Asterisk answered {response.status_code}: {reason or response.reason}."


# How long a snooping channel may need to enter our application.
ENTER_SECONDS, LOOK_SECONDS = 1.0, 0.01


def listen(ari: Ari, app: str, channel_id: str, customer: str, *, is_heard: bool) -> None:
    """Put the supervisor and a channel that snoops on the customer's into a bridge with the id of the supervisor's.

    What is said into the snooping channel reaches the bridge of the call as if the customer had said it: the customer
    alone does not hear it. The channel ends with the customer's, and not with the supervisor's.
    """
    if not is_heard:
        ari.send("POST", "channels", channel_id, "mute", direction="in")
    snoop = snoop_of(channel_id)
    if ari.send_if_there("GET", "channels", snoop) is None:
        ari.send("POST", "channels", customer, "snoop", spy="both", whisper="in", app=app, snoopId=snoop)
    if ari.send_if_there("GET", "bridges", channel_id) is None:
        ari.send("POST", "bridges", type="mixing", bridgeId=channel_id)
    _add(ari, channel_id, channel_id, snoop)
    if is_heard:
        ari.send("DELETE", "channels", channel_id, "mute", direction="in")


def _add(ari: Ari, bridge_id: str, *channels: str) -> None:
    deadline = time.monotonic() + ENTER_SECONDS
    while True:
        try:
            ari.add_to_bridge(bridge_id, *channels)
        except AriError as error:
            # 422: the snooping channel is not in the application yet.
            if error.status not in (409, 422) or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_SECONDS)
        else:
            return


def barge(ari: Ari, channel_id: str, bridge_id: str) -> None:
    ari.send("DELETE", "channels", channel_id, "mute", direction="in")
    ari.add_to_bridge(bridge_id, channel_id)


def stop_listening(ari: Ari, channel_id: str) -> None:
    ari.send_if_there("DELETE", "channels", snoop_of(channel_id))
    ari.send_if_there("DELETE", "bridges", channel_id)
    # Refused if the phone was not picked up, or is gone.
    with suppress(AriError):
        ari.send("DELETE", "channels", channel_id, "mute", direction="in")


# Of a caller: channel, end, number, dialled number.
_MISSED = re.compile(
    r"\A(?P<channel>(?:[^:,/]*[^:,/\d])?(?P<began>\d{1,11})\.\d+):(?P<ended>\d{1,11}):(?P<caller>[^:]*):(?P<dialled>[^:]+)"
)


class MissedCallers:
    """Callers who gave up while no listener was connected, as the dialplan of docs/telephony-switch.md stores them.

    They are the keys of the database of Asterisk that it lists in a global variable, with the name of both. It updates
    the variable when the next caller is missed. Until then it still lists forgotten keys.
    """

    def __init__(self, ari: Ari, name: str) -> None:
        self._ari, self._name = ari, name
        self._forgotten: set[str] = set()

    def listed(self) -> list[Missed]:
        answer = self._ari.send_if_there("GET", "asterisk", "variable", variable=self._name) or {}
        keys = str(answer.get("value", "")).split(",")
        self._forgotten.intersection_update(keys)
        found = [_MISSED.fullmatch(key) for key in keys if key not in self._forgotten]
        return [
            Missed(
                key=match[0],
                channel_id=match["channel"],
                began_at=datetime.fromtimestamp(int(match["began"]), UTC),
                ended_at=datetime.fromtimestamp(int(match["ended"]), UTC),
                caller=match["caller"],
                dialled=match["dialled"],
            )
            for match in found
            if match
        ]

    def forget(self, key: str) -> None:
        # ARI may not read this function, but writing to it has the same effect.
        self._ari.send("POST", "asterisk", "variable", variable=f"DB_DELETE({self._name}/{key})", value="1")
        self._forgotten.add(key)
