"""Asterisk's REST interface: one request, its time-outs, its refusals. For what they are used see asterisk.py."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import requests

from telephony.switch.base import SwitchError, SwitchUnreachable

# To connect, and between two pieces of an answer.
TIMEOUTS_SECONDS = (2.0, 5.0)
# Asterisk closes a connection that was idle for 15 s. One that is closed while we write to it would leave us in doubt
# whether a call was placed, so we never come near.
IDLE_SECONDS = 5.0


class AriError(SwitchError):
    """Asterisk's refusal, with the status of its answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Ari:
    """Sends requests; each thread over a connection of its own, which stays open."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url = url.rstrip("/")
        self._auth = (user.encode(), password.encode())
        self._of_thread = threading.local()

    def send(self, method: str, *path: str, **parameters: str | int) -> requests.Response:
        return self._request(method, path, parameters)

    def open(self, *path: str) -> requests.Response:
        """What is there, to be read piece by piece and closed."""
        return self._request("GET", path, {}, stream=True)

    def send_if_there(self, method: str, *path: str, **parameters: str | int) -> Any:
        """The answer's JSON, None for an answer without any and where there is no such thing."""
        try:
            response = self.send(method, *path, **parameters)
        except AriError as error:
            if error.status == 404:
                return None
            raise
        return response.json() if response.content else None

    def _request(
        self, method: str, path: Sequence[str], parameters: Mapping[str, str | int], *, stream: bool = False
    ) -> requests.Response:
        url = "/".join([self._url, *(quote(part, safe="") for part in path)])
        try:
            response = self._session().request(
                method, url, params=parameters, timeout=TIMEOUTS_SECONDS, stream=stream, allow_redirects=False
            )
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
            # No proxy of the environment, no .netrc.
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
