"""The work of all clients: operations at a rate, pages that poll, and the ledger of all that was accepted."""

import base64
import http.client
import itertools
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from functools import partial
from typing import Any

import psycopg

from benchmarks.load.machine import Machine
from benchmarks.load.people import CALLERS, HOTLINE

THREADS = 24
# Seconds after which a client gives up.
PATIENCE = 15.0
# Against forged requests: the same in cookie and form.
TOKEN = "t" * 32
MAILS_PER_SECOND, CALLS_PER_SECOND, EXPORT_SECONDS = 0.5, 0.5, 20.0
# The page that a supervisor looks at, and its interval: overview.js, live.js.
PAGES = (("/admin/overview/now", 2.0), ("/admin/telephony/queue/", 3.0), ("/admin/campaigns/campaign/1/dialling/", 3.0))
_ARRIVE = """
INSERT INTO telephony_switchcommand (name, arguments, answer, error, created_at)
VALUES ('arrive', %s, 'null', '', now())
"""


@dataclass
class Ledger:
    """All that was accepted: kind -> mark that must be found again -> when (time.monotonic())."""

    accepted: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    # Of each request the time, the operation, the seconds it took, and its error or "".
    done: list[tuple[float, str, float, str]] = field(default_factory=list)

    def since(self, moment: float) -> list[tuple[float, str, float, str]]:
        return [each for each in self.done if each[0] >= moment]


class Clock:
    """Lets callers through at a rate. What could not be done in time is left out, and counted."""

    def __init__(self, rate: float) -> None:
        self.rate, self.late = rate, 0
        self._next, self._lock = time.monotonic(), threading.Lock()

    def wait(self, is_over: threading.Event) -> bool:
        """Wait for the next turn. Return False at the end."""
        with self._lock:
            now = time.monotonic()
            if self._next < now - 1:
                self.late += int((now - self._next) * self.rate)
                self._next = now
            turn = self._next
            self._next += 1 / self.rate
        return not is_over.wait(max(turn - now, 0))


class Browser:
    """A keep-alive connection that is opened again after an error."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._port, self._headers = port, headers
        self._open: http.client.HTTPConnection | None = None
        self._used = 0.0

    def ask(self, method: str, path: str, body: Any = None, form: str = "") -> tuple[int, bytes]:
        # The server closes a connection that was idle for half a minute.
        if self._open is None or time.monotonic() - self._used > 20:
            self.close()
            self._open = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        headers = {**self._headers, "Content-Type": "application/x-www-form-urlencoded" if form else "application/json"}
        try:
            self._open.request(method, path, form or (None if body is None else json.dumps(body)), headers)
            response = self._open.getresponse()
            answer = response.read()
        except BaseException:
            self.close()
            raise
        self._used = time.monotonic()
        return response.status, answer

    def close(self) -> None:
        if self._open:
            self._open.close()
            self._open = None


class Work:
    """All clients, as threads."""

    def __init__(self, machine: Machine, cookies: Any, rate: float, agents: int) -> None:
        self.machine, self.cookies, self.agents = machine, cookies, agents
        self.ledger, self.clock = Ledger(), Clock(rate)
        self.is_over = threading.Event()
        # Every second desk and page rests.
        self.is_half = False
        self.numbers = itertools.count(1)
        token = base64.b64encode(f"{machine.running.login}:{machine.running.secret}".encode()).decode()
        self.basic = {"Authorization": f"Basic {token}"}
        self._threads: list[threading.Thread] = []
        self._tickets: list[str] = []
        self._cycle = itertools.cycle([self.read, self.read, self.write, self.read])
        self._reads = itertools.cycle(self._paths())
        self._writes = itertools.cycle(
            [self._record, self._ticket, self._record, self._reply, self._record, self._comment, self._customer]
        )

    def start(self) -> None:
        port = self.machine.running.port
        for _ in range(THREADS):
            self._run(self._api, Browser(port, self.basic))
        for number, cookie in enumerate(self.cookies["desks"]):
            self._run(self._desk, Browser(port, {"Cookie": f"sessionid={cookie}", "X-Poll": "1"}), number)
        for number, cookie in enumerate(self.cookies["supervisors"]):
            headers = {"Cookie": f"sessionid={cookie}", "X-Poll": "1"}
            self._run(self._supervisor, Browser(port, headers), number)
        self._run(self._mail)
        self._run(self._call, Browser(port, self.basic))
        self._run(
            self._export, Browser(port, {"Cookie": f"sessionid={self.cookies['supervisors'][0]}; csrftoken={TOKEN}"})
        )

    def end(self) -> None:
        self.is_over.set()
        for thread in self._threads:
            thread.join()

    def _run(self, act: Callable[..., None], *args: Any) -> None:
        self._threads.append(threading.Thread(target=act, args=args, name=act.__name__, daemon=True))
        self._threads[-1].start()

    def timed(self, name: str, ask: Callable[[], tuple[int, Any]], expect: int) -> Any:
        """Note the time and the outcome. Return the answer, or None."""
        started, error, answer = time.monotonic(), "", None
        try:
            status, answer = ask()
            if status != expect:
                error, answer = f"{status} {answer[:120]!r}", None
        except (OSError, http.client.HTTPException, psycopg.Error) as failure:
            error = type(failure).__name__
        self.ledger.done.append((started, name, time.monotonic() - started, error))
        return answer

    def _accept(self, kind: str, mark: str) -> None:
        self.ledger.accepted[kind][mark] = time.monotonic()

    # The API

    def _api(self, browser: Browser) -> None:
        while self.clock.wait(self.is_over):
            next(self._cycle)(browser)

    def _paths(self) -> list[tuple[str, str]]:
        return [
            ("list connections", "/api/connections?limit=50"),
            ("list records", "/api/outbounds/E0000/records?limit=50"),
            ("list agents", "/api/agents?limit=100"),
            ("list tickets", "/api/tickets?limit=20"),
            ("read the dialler", "/api/outbounds/E0000/dialer"),
            ("list queues", "/api/queues"),
        ]

    def read(self, browser: Browser) -> None:
        name, path = next(self._reads)
        self.timed(name, lambda: browser.ask("GET", path), 200)

    def write(self, browser: Browser) -> None:
        next(self._writes)(browser, next(self.numbers))

    def _post(self, browser: Browser, name: str, path: str, body: Any, expect: int = 201) -> Any:
        return self.timed(name, lambda: browser.ask("POST", path, body), expect)

    def _record(self, browser: Browser, number: int) -> None:
        mark = f"+48600{number:06}"
        if self._post(browser, "add a record", "/api/outbounds/L0000/records", {"phone_number": mark}) is not None:
            self._accept("records", mark)

    def _customer(self, browser: Browser, number: int) -> None:
        body = {"identifier": f"load-{number}", "surname": "Kowal", "email": f"load{number}@client.example"}
        if self._post(browser, "add a customer", "/api/customers", body) is not None:
            self._accept("customers", f"load-{number}")

    def _ticket(self, browser: Browser, number: int) -> None:
        body = {
            "subject": "Parcel lost", "body": f"Where is parcel {number}?", "from": f"jan{number}@client.example",
            "source": "email", "queue": "Help",
        }  # fmt: skip
        if answer := self._post(browser, "open a ticket", "/api/tickets", body):
            self._tickets.append(json.loads(answer)["ticket_id"])
            self._accept("tickets", self._tickets[-1])

    def _reply(self, browser: Browser, number: int) -> None:
        if tickets := self._tickets:
            body = {"body": f"<p>reply-{number}.</p>", "user_login": "bench0"}
            path = f"/api/tickets/{tickets[number % len(tickets)]}/agent_response"
            if self._post(browser, "reply to a ticket", path, body) is not None:
                self._accept("replies", str(number))

    def _comment(self, browser: Browser, number: int) -> None:
        if tickets := self._tickets:
            path = f"/api/tickets/{tickets[number % len(tickets)]}/comment"
            body = {"comment": f"comment-{number}.", "user_login": "bench1"}
            if self._post(browser, "comment on a ticket", path, body, expect=204) is not None:
                self._accept("comments", str(number))

    # Pages that poll, as their scripts do

    def _desk(self, browser: Browser, number: int) -> None:
        known: dict[str, str] = {}
        pause = 1 + number / 50
        while not self.is_over.wait(pause):
            pause = 1.0
            if self.is_half and number % 2:
                continue
            pause = max(self.poll(browser, known), 1.0)

    def poll(self, browser: Browser, known: dict[str, str]) -> float:
        """Ask for what has changed. Return the rest that the desk may take."""
        path = "/admin/desk/now?" + "&".join(f"{name}={digest}" for name, digest in known.items())
        answer = self.timed("poll of a desk", partial(browser.ask, "GET", path), 200)
        if answer is not None:
            read = json.loads(answer)
            known |= {name: part["digest"] for name, part in read["parts"].items()}
            return float(read["rest"])
        return 0.0

    def _supervisor(self, browser: Browser, number: int) -> None:
        path, pause = PAGES[number % len(PAGES)]
        # They were opened at different moments.
        self.is_over.wait(pause * number / len(self.cookies["supervisors"]))
        while not self.is_over.wait(pause):
            if not (self.is_half and number % 2):
                self.timed(f"page {path}", lambda: browser.ask("GET", path), 200)

    # The rest

    def _mail(self) -> None:
        clock = Clock(MAILS_PER_SECOND)
        while clock.wait(self.is_over):
            number = next(self.numbers)
            mail = EmailMessage()
            mail["From"], mail["To"] = f"anna{number}@client.example", "help@us.example"
            mail["Subject"], mail["Message-ID"] = f"Order {number}", f"<load-{number}@client.example>"
            mail.set_content("Where is my order?\n" * 20)
            self.machine.outside.say(mail.as_string())
            self._accept("mails", f"load-{number}@client.example")

    def _call(self, browser: Browser) -> None:
        """Let agents call, and on the simulated switch callers come."""
        clock, turns = Clock(CALLS_PER_SECOND), itertools.cycle([True, False])
        while clock.wait(self.is_over):
            number = next(self.numbers)
            if next(turns) or "switch" in self.machine.commands:
                body = {"sip": str(200 + self.agents + number % CALLERS), "phone_number": f"+48601{number:04}00"}
                self._post(browser, "click to call", "/api/connections/call", body, expect=204)
            else:
                self.timed("a caller arrives", partial(self._arrive, number), 0)

    def _arrive(self, number: int) -> tuple[int, None]:
        arguments = json.dumps({"args": [f"48602{number:06}", HOTLINE], "kwargs": {}})
        with self.machine.running.connect() as connection:
            connection.execute(_ARRIVE, [arguments])
        return 0, None

    def _export(self, browser: Browser) -> None:
        while not self.is_over.wait(EXPORT_SECONDS):
            form, path = f"format=csv&csrfmiddlewaretoken={TOKEN}", "/admin/telephony/connection/list-export/"
            if self.timed("ask for an export", partial(browser.ask, "POST", path, form=form), 302) is not None:
                self._accept("exports", str(time.monotonic()))


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


@contextmanager
def working(machine: Machine, cookies: Any, rate: float, agents: int) -> Iterator[Work]:
    work = Work(machine, cookies, rate, agents)
    work.start()
    try:
        yield work
    finally:
        work.end()
