"""Listeners and workers as processes, on stores that may be killed, with a stand-in of Asterisk in this one."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.db import OperationalError
from django.db import connection as database

from callcentre.embedded import Stores
from telephony.models import Agent, AgentState, Connection, Leg
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.telephony.switch.ari_pbx import Pbx
from tests.telephony.switch.ari_server import PASSWORD, USER, AriServer
from webhooks.models import Event

ROOT = Path(__file__).resolve().parents[2]


def environment(stores: Stores, folder: Path, ari: AriServer, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        **stores.environment,
        "SECRET_KEY": settings.SECRET_KEY,
        "FIELD_ENCRYPTION_KEYS": ",".join(settings.FIELD_ENCRYPTION_KEYS),
        "ALLOWED_HOSTS": "127.0.0.1",
        "CALLCENTRE_VAR": str(folder),
        "SWITCH_BACKEND": "asterisk",
        "ARI_URL": ari.url,
        "ARI_USER": USER,
        "ARI_PASSWORD": PASSWORD,
        "PYTHONWARNINGS": "ignore",
        **more,
    }


@contextmanager
def process(arguments: str, name: str, variables: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", *arguments.split()]
    with (folder / f"{name}.log").open("ab") as log:
        running = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=log, stderr=log)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


class Service:
    """What a test of faults starts, kills and looks at."""

    def __init__(self, stores: Stores, folder: Path, ari: AriServer) -> None:
        self.stores, self.folder, self.ari = stores, folder, ari
        self.log = folder / "listener.log"
        self.log.unlink(missing_ok=True)
        # Of switches that were killed.
        self.former: list[Pbx] = []

    def listener(self, **more: str) -> Any:
        return process("tests.telephony.listening", "listener", self._environment(**more), self.folder)

    def worker(self, **more: str) -> Any:
        arguments = (
            f"celery --quiet -A tests.telephony.worker worker -n w{time.monotonic_ns()} -Q calls -P threads -c 8"
        )
        return process(
            f"{arguments} --without-gossip --without-mingle", "worker", self._environment(**more), self.folder
        )

    def _environment(self, **more: str) -> dict[str, str]:
        return environment(self.stores, self.folder, self.ari, **more)

    def count_in_log(self, words: str) -> int:
        return self.log.read_text().count(words) if self.log.exists() else 0

    def kill_switch(self) -> None:
        self.former.append(self.ari.pbx)
        self.ari.kill()

    def has_worked(self) -> bool:
        """No task waits, and no worker has one."""
        with redis.Redis.from_url(self.stores.redis_url) as broker:
            return not broker.llen("cc:calls") and not broker.hlen("cc:unacked")

    # What the switch was asked for, and what it has

    @property
    def asked(self) -> Counter[str]:
        """How often each channel was asked for."""
        return Counter(
            values.get("channelId", path.rpartition("/")[2])
            for pbx in [*self.former, self.ari.pbx]
            for method, path, values in pbx.requests
            if method == "POST" and "endpoint" in values
        )

    def has_looked(self) -> bool:
        """The listener has compared its calls with the channels: by then it has placed those that it found waiting, and
        leaves new ones to the workers."""
        with self.ari.pbx.lock:
            return any(method == "GET" and path.endswith("channels") for method, path, _values in self.ari.pbx.requests)

    def bridged(self) -> list[set[str]]:
        """The channels of each bridge with two of them."""
        with self.ari.pbx.lock:
            members: dict[str, set[str]] = {}
            for line in self.ari.pbx.lines.values():
                if line.bridge:
                    members.setdefault(line.bridge, set()).add(line.id)
        return [channels for channels in members.values() if len(channels) == 2]

    def hang_up(self, number: int, pks: list[int]) -> None:
        """The far end of these calls' legs with this number puts the phone down: 1 the agent's, 2 the customer's."""
        for pk in pks:
            self.ari.pbx.far_end_hangs_up(f"callcentre-{pk}-{number}")


def some_agents(count: int) -> list[Agent]:
    agents: list[Agent] = [AgentFactory(number=str(200 + n)) for n in range(count)]
    for agent in agents:
        agent.log_in(ACTOR)
    return agents


def calls(agents: list[Agent], number: str = "+48600100200") -> list[int]:
    """A call of each agent, asked for."""
    return [Connection.call(ACTOR, sip=agent.number, phone_number=number).pk for agent in agents]


def wait_for(condition: Callable[[], Any], what: str = "", seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OperationalError):
            if condition():
                return
        time.sleep(0.05)
    raise AssertionError(f"{what} not within {seconds} s: {list(Connection.objects.values_list('pk', 'state'))}")


def in_state(state: str, pks: list[int]) -> int:
    try:
        return Connection.objects.filter(pk__in=pks, state=state).count()
    except OperationalError:
        database.close()
        raise


def assert_over_and_counted_once(service: Service, pks: list[int]) -> None:
    """No call goes on, no agent is in one, and nothing happened twice."""
    wait_for(lambda: in_state("ended", pks) == len(pks), "all ended")
    wait_for(lambda: not Leg.objects.filter(ended_at=None).exists(), "all legs ended")
    wait_for(lambda: not service.ari.pbx.lines, "all channels gone")

    ended = Counter(Event.objects.filter(action="CONNECTION_ENDED").values_list("subject", flat=True))
    answered = Counter(Event.objects.filter(action="CONNECTION_ANSWERED").values_list("subject", flat=True))
    assert set(ended.values()) == {1}
    assert len(ended) == len(pks)
    assert set(answered.values()) <= {1}
    assert set(service.asked.values()) <= {1}
    assert set(AgentState.objects.filter(ended_at=None).values_list("kind", flat=True)) == {"free"}
