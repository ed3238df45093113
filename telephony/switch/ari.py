"""Requests to the REST interface of Asterisk: time-outs, refusals, connections. asterisk.py uses them."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import requests

from telephony.switch.base import SwitchError, SwitchUnreachable

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
            response = self._session().request(
                method,
                url,
                params=parameters,
                json=body,
                timeout=TIMEOUTS_SECONDS,
                stream=stream,
                allow_redirects=False,
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
