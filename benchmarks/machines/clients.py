"""Clients of the two hosts, and a receiver of their webhooks."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from benchmarks.harness import Service
from benchmarks.machines.hosts import say

CLIENTS, PAUSE_SECONDS = 4, 0.1


class Receiver(BaseHTTPRequestHandler):
    """A receiver of webhooks. It counts how often each event comes."""

    events: Counter[str] = Counter()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Receiver.events[body["event_id"]] += 1
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args: Any) -> None:
        pass


class Clients:
    """Clients of the API that read and write all the time, and their failures."""

    def __init__(self, running: Service) -> None:
        self.done, self.failures, self._is_over = 0, list[str](), False
        self.slowest = 0.0
        self._threads = [threading.Thread(target=self._work, args=[running, n]) for n in range(CLIENTS)]

    def _work(self, running: Service, own: int) -> None:
        client, turn = running.client(), 0
        while not self._is_over:
            turn += 1
            ticket = {"from": "anna@example.com", "subject": f"Order {own}-{turn}", "body": "x"}
            for method, path, body, expect in (
                ("POST", "/api/customers", {"surname": f"Nowak {own}-{turn}"}, 201),
                ("GET", "/api/outbounds/E0001/records?limit=20", None, 200),
                ("POST", "/api/tickets", ticket, 201),
                ("GET", "/api/tickets?limit=20", None, 200),
            ):
                started = time.monotonic()
                try:
                    client.send(method, path, body, expect=expect)
                    self.done += 1
                except Exception as error:  # noqa: BLE001  (counted)
                    self.failures.append(f"{method} {path}: {error!r}"[:200])
                    client = running.client()
                self.slowest = max(self.slowest, time.monotonic() - started)
                time.sleep(PAUSE_SECONDS)

    def during(self, what: str, action: Callable[[], Any]) -> int:
        """Run the action. Print and return the failures of requests meanwhile."""
        done, failed, self.slowest = self.done, len(self.failures), 0.0
        action()
        new = self.failures[failed:]
        say(f"{what}: {self.done - done} requests, {len(new)} failed, the slowest {self.slowest:.1f} s")
        for line in new[:5]:
            say(f"    {line}")
        return len(new)

    def __enter__(self) -> "Clients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join()
