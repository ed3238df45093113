"""Listeners and workers as processes, on stores that may be killed, with a stand-in of Asterisk in this one."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import redis
from django.db import OperationalError
from django.db import connection as database

from callcentre.launch.embedded import Stores
from telephony.leader_election import is_connected
from telephony.models import Agent, AgentState, Connection, Leg
from telephony.verbs import connections, presence
from tests.conftest import ACTOR
from tests.processes import environment, running, wait_for
from tests.telephony.factories import AgentFactory
from tests.telephony.switch.ari_pbx import Pbx
from tests.telephony.switch.ari_server import PASSWORD, USER, AriServer
from webhooks.models import Event

PLACE_LIMIT_SECONDS = 600


class Service:
    """The processes and stores of a test of faults."""

    def __init__(self, stores: Stores, folder: Path, ari: AriServer) -> None:
        self.stores, self.folder, self.ari = stores, folder, ari
        self.log = folder / "listener.log"
        self.log.unlink(missing_ok=True)
        # The switches that were killed.
        self.former: list[Pbx] = []

    def listener(self, **more: str) -> Any:
        return self._running("listener", "tests.telephony.listening", **more)

    def worker(self, **more: str) -> Any:
        arguments = "-Q calls -P threads -c 8 --without-gossip --without-mingle"
        name = f"w{time.monotonic_ns()}"
        return self._running("worker", f"celery --quiet -A tests.telephony.worker worker -n {name} {arguments}", **more)

    def _running(self, name: str, arguments: str, **more: str) -> Any:
        ari = {"ARI_URL": self.ari.url, "ARI_USER": USER, "ARI_PASSWORD": PASSWORD}
        variables = {"REDIS_URL": self.stores.environment["REDIS_URL"], "SWITCH_BACKEND": "asterisk", **ari, **more}
        variables["PLACE_LIMIT_SECONDS"] = str(PLACE_LIMIT_SECONDS)
        return running(arguments.split(), environment(self.folder, **variables), self.folder / f"{name}.log")

    def count_in_log(self, words: str) -> int:
        return self.log.read_text().count(words) if self.log.exists() else 0

    def kill_switch(self) -> None:
        self.former.append(self.ari.pbx)
        self.ari.kill()

    def has_worked(self) -> bool:
        """No task waits, and no worker has one."""
        with redis.Redis.from_url(self.stores.environment["REDIS_URL"]) as broker:
            return not broker.llen("cc:calls") and not broker.hlen("cc:unacked")

    # Requests to the switch, and its channels

    @property
    def asked(self) -> Counter[str]:
        """How often each channel was asked for."""
        return Counter(
            values.get("channelId", path.rpartition("/")[2])
            for pbx in [*self.former, self.ari.pbx]
            for method, path, values in pbx.requests
            if method == "POST" and "endpoint" in values
        )

    def wait_until_heard(self) -> None:
        """Wait until the listener is connected and has placed the waiting calls; it leaves new ones to the workers.

        It compares the channels, reports the connection and places them. An earlier comparison may be of the same
        moment.
        """
        wait_for(is_connected, "the switch is heard")
        looks = self._looks()
        wait_for(lambda: self._looks() > looks, "the listener has placed what it found")

    def _looks(self) -> int:
        with self.ari.pbx.lock:
            return sum(method == "GET" and path.endswith("channels") for method, path, _values in self.ari.pbx.requests)

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
        presence.log_in(agent, ACTOR)
    return agents


def calls(agents: list[Agent], number: str = "+48600100200") -> list[int]:
    """A call of each agent, asked for."""
    return [connections.call(ACTOR, sip=agent.number, phone_number=number).pk for agent in agents]


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
