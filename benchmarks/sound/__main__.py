"""Thirty agents with sound on a real Asterisk, two of them in browsers: how soon both sides hear each other.

python -m benchmarks.sound

Rounds of thirty calls at once: asked for by POST /connections/call, from callers of a queue, and by a campaign to
agents with standing lines; each without and with a supervisor who listens to another call meanwhile. The time runs from
the answer (of the second one who picks up) until both have heard the tone of the other; its parts are printed as well:
until the service asks for the bridge, until Asterisk has put both into it, until both hear. Then all processes of the
service are killed in the middle of calls, later Asterisk is: the channels and bridges of Asterisk are compared with the
rows, and recordings with their files. It ends with 1 if they differ. Figures decide nothing. About five minutes.

The environment names an Asterisk that is configured as docs/telephony-switch.md says, with `trunk` as the provider and
`ws` for browsers; phones for the trial are written into its memory. It needs root, sipp and Chromium.

    TRIAL_ARI_URL=http://callcentre:ari-secret@127.0.0.1:8088/ari
    TRIAL_SIP=127.0.0.1:5060        its SIP port
    TRIAL_TRUNK=127.0.0.2:5062      where it finds the provider; calls from there are those of people outside
    TRIAL_RESTART=…                 a command that kills it (SIGKILL) and starts it again
"""

import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from benchmarks.harness import Service, Table, manage, service
from benchmarks.sound.heard import AGENT_HZ, OUTSIDE_HZ, Ears
from benchmarks.sound.trial import (
    BROWSERS,
    SIPP_PHONES,
    SUPERVISOR,
    TALKER,
    Processes,
    Switch,
    browsers,
    callers,
    far_ends,
    processes,
    wait_for,
)

AGENTS = [*SIPP_PHONES, *BROWSERS]
ROUNDS = 2
# After the last join, until which both must have heard each other.
LISTEN_SECONDS = 2.0

_CALLS = """
SELECT c.id, a.number, CASE c.direction WHEN 'INBOUND' THEN c.src_number ELSE c.dst_number END, c.direction
FROM telephony_connection c JOIN telephony_agent a ON a.id = c.agent_id
WHERE c.state = 'talking' AND a.number <> %s ORDER BY c.id
"""
# The ids of calls in the API.
_UIDS = "SELECT extract(epoch FROM created_at)::bigint || '.' || id FROM telephony_connection WHERE true"
# Calls, channels and states of all legs and lines that should be at the switch.
_CHANNELS = """
SELECT connection_id, channel_id, state FROM telephony_leg WHERE ended_at IS NULL
UNION ALL SELECT connection_id, channel_id, state FROM telephony_agentline WHERE ended_at IS NULL
"""
_TALKS = "SELECT id FROM telephony_connection WHERE state = 'talking' AND NOT is_on_hold AND agent_lost_at IS NULL"
_RECORDINGS = "SELECT state, count(*) FROM telephony_recording GROUP BY state ORDER BY state"
_STATES = (
    ("connection", "state", "state <> 'ended'"),
    ("agentstate", "kind", "ended_at IS NULL"),
    ("agentline", "state", "ended_at IS NULL"),
)
_FILES = "SELECT file FROM telephony_recording WHERE state = 'ready'"


@dataclass
class Trial:
    running: Service
    all: Processes
    switch: Switch
    ears: Ears
    pages: list[Page]
    table: Table
    folder: Path
    # The call in which the supervisor listens.
    long: list[int] = field(default_factory=list)
    _numbers: int = 100_000

    def __post_init__(self) -> None:
        self.database = self.running.connect()
        self.client = self.all.running.client()
        self._clients = [self.all.running.client() for _ in AGENTS]

    def rows(self, statement: str, *values: Any) -> list[Any]:
        return self.database.execute(statement, values).fetchall()

    def post(self, path: str, body: Any = None) -> None:
        self.client.send("POST", f"/api/{path}", body, expect=204)

    def say_how_it_stands(self) -> None:
        """Print the numbers of calls, agents and lines in each state: why a trial has stopped early."""
        for table, state, where in _STATES:
            found = self.rows(f"SELECT {state}, count(*) FROM telephony_{table} WHERE {where} GROUP BY 1 ORDER BY 1")
            print(table, dict(found), file=sys.stderr)

    # Rounds

    def ask_for_calls(self) -> None:
        first = self.next_number(len(AGENTS))

        def ask(place: int) -> None:
            body = {"sip": str(AGENTS[place]), "phone_number": f"+48{first + place}"}
            self._clients[place].send("POST", "/api/connections/call", body, expect=204)

        with ThreadPoolExecutor(len(AGENTS)) as pool:
            list(pool.map(ask, range(len(AGENTS))))

    def call_in(self) -> None:
        callers(self.switch, self.folder / "outside", len(AGENTS), self.next_number(len(AGENTS)) - 600_000_000)

    def dial(self) -> None:
        self.rows_changed("UPDATE campaigns_campaign SET is_dialling = true")

    def rows_changed(self, statement: str, *values: Any) -> None:
        self.database.execute(statement, values)

    def next_number(self, count: int) -> int:
        first = 600_000_000 + self._numbers
        self._numbers += count
        return first

    def round(self, begin: Any) -> tuple[float, list[tuple[float, ...]]]:
        """Let all talk. Return the seconds until all talk, and of each call the seconds of its parts."""
        self.ears.forget()
        started_at = time.time()
        begin()
        calls = wait_for(lambda: self.talking(len(AGENTS)), 40, "thirty talk", step=0.01)
        until_all = time.time() - started_at
        self.rows_changed("UPDATE campaigns_campaign SET is_dialling = false")
        for page in self.pages:
            page.wait_for_timeout(1000 * LISTEN_SECONDS / len(self.pages))
        parts = [self.parts(call, started_at) for call in calls]
        self.end()
        unheard = [call for call, found in zip(calls, parts, strict=True) if found is None]
        if unheard:
            raise RuntimeError(f"both sides were not heard: {unheard}")
        return until_all, [found for found in parts if found]

    def talking(self, count: int) -> list[Any] | None:
        calls = self.rows(_CALLS, str(TALKER))
        return calls if len(calls) >= count else None

    def parts(self, call: tuple[int, str, str, str], since: float) -> tuple[float, ...] | None:
        """Return the seconds from the later answer until the bridge is asked for, until both are in it, and hear."""
        pk, agent, outside, direction = call
        page = self.pages[int(agent) - BROWSERS[0]] if int(agent) in BROWSERS else None
        answers = [self.ears.ends.get(outside, (since, 0))[0]]
        answers += [at / 1000 for at in page.evaluate("window.answered")] if page else []
        answers += [] if page else [self.ears.ends[agent][0]]
        answered_at = max(answers) if direction == "INBOUND" else answers[0]
        heard = [self.ears.first(outside, AGENT_HZ, answered_at)]
        if page:
            tones = [at / 1000 for at in page.evaluate("window.heard")]
            heard.append(next((at for at in tones if at >= answered_at), None))
        else:
            heard.append(self.ears.first(agent, OUTSIDE_HZ, answered_at))
        known = [at for at in heard if at is not None]
        at = [answered_at, *self.ears.bridges.get(pk, ())[:2], *known]
        if len(at) != 5:
            return None
        ends = [answered_at, at[1], at[2], max(known)]
        return tuple(end - begin for begin, end in pairwise(ends))

    def end(self) -> None:
        """Hang up all calls but the long one. Agents who are free again get those who were answered meanwhile."""

        def is_over() -> bool:
            open_ones = self.rows(f"{_UIDS} AND state <> 'ended' AND id <> ALL(%s)", self.long)
            for (uid,) in open_ones:
                # 404: ended meanwhile
                with suppress(RuntimeError):
                    self.post(f"connections/{uid}/hangup")
            return not open_ones

        wait_for(is_over, 40, "all calls are over", step=0.5)
        unfetched = (
            "SELECT 1 FROM telephony_recording WHERE state IN ('expected', 'fetching') AND connection_id <> ALL(%s)"
        )
        wait_for(lambda: not self.rows(unfetched, self.long), 60, "recordings are fetched")
        time.sleep(2)

    def measure(self, what: str, begin: Any, goal: float) -> None:
        found: dict[bool, list[tuple[float, list[tuple[float, ...]]]]] = {False: [], True: []}
        for _ in range(ROUNDS):
            for is_heard in (False, True):
                self.supervise(is_heard=is_heard)
                found[is_heard].append(self.round(begin))
        self.supervise(is_heard=False)
        for is_heard, rounds in found.items():
            parts = [one for _, some in rounds for one in some]
            delays = sorted(map(sum, parts))
            how = f"{what}, {'with' if is_heard else 'without'} a supervisor"
            self.table.add_time(f"{how}: until all talk", statistics.median(seconds for seconds, _ in rounds), 5)
            for name, value in (("median", statistics.median(delays)), ("longest", delays[-1])):
                self.table.add_time(f"{how}: from the answer until both are heard, {name}", value, goal)
            for name, column in zip(
                ("bridge asked for", "both in it", "both hear"), zip(*parts, strict=True), strict=True
            ):
                milliseconds = [round(1000 * some) for some in (statistics.median(column), max(column))]
                print(f"{how}: {name} after {milliseconds[0]} ms, longest {milliseconds[1]}", file=sys.stderr)

    def supervise(self, *, is_heard: bool) -> None:
        ((uid,),) = self.rows(f"{_UIDS} AND id = ANY(%s)", self.long)
        path = f"connections/{uid}/monitor"
        if is_heard:
            self.post(path, {"sip": str(SUPERVISOR), "mode": "listen"})
        elif self.rows("SELECT 1 FROM telephony_supervision WHERE ended_at IS NULL"):
            self.client.send("DELETE", f"/api/{path}?sip={SUPERVISOR}", expect=204)
        up = "SELECT count(*) FROM telephony_supervision WHERE ended_at IS NULL AND up_at IS NOT NULL"
        wait_for(lambda: self.rows(up) == [(int(is_heard),)], 20, "the supervisor")
        time.sleep(1)

    def begin_long_call(self) -> None:
        self.post("connections/call", {"sip": str(TALKER), "phone_number": f"+48{self.next_number(1)}"})
        talks = "SELECT c.id FROM telephony_connection c JOIN telephony_agent a ON a.id = c.agent_id"
        found = f"{talks} WHERE c.state = 'talking' AND a.number = %s"
        self.long = [pk for (pk,) in wait_for(lambda: self.rows(found, str(TALKER)), 20, "the long call")]

    def stand_lines(self) -> None:
        """Let all have standing lines from now on; the first calls of a campaign begin them."""
        self.rows_changed(
            "UPDATE telephony_agent SET has_line = true WHERE number <> ALL(%s)", [str(TALKER), str(SUPERVISOR)]
        )
        for number in AGENTS:
            self.post(f"agents/bench{number}/line")
        up = "SELECT count(*) FROM telephony_agentline WHERE ended_at IS NULL AND state = 'up'"
        wait_for(lambda: self.rows(up) == [(len(AGENTS),)], 30, "lines")
        time.sleep(2)

    # Kills

    def differences(self) -> list[str]:
        """Return where Asterisk and the rows differ: what is at one of them only, and who talks alone."""
        rows = {channel: (pk, state) for pk, channel, state in self.rows(_CHANNELS)}
        monitored = bool(self.rows("SELECT 1 FROM telephony_supervision WHERE ended_at IS NULL"))
        there = {one["id"] for one in self.switch.ask("GET", "channels")}
        there -= {one for one in there if monitored and "-monitor-" in one}
        bridges = {one["id"]: set(one["channels"]) for one in self.switch.ask("GET", "bridges")}
        talks = {pk for (pk,) in self.rows(_TALKS)}
        found = [f"channel {one} has no row" for one in there - rows.keys()]
        found += [f"{one} ({rows[one][1]}) has no channel" for one in rows.keys() - there]
        for pk in talks:
            ours = {channel for channel, (call, _state) in rows.items() if call == pk}
            joined = {one for one in bridges.get(f"callcentre-{pk}", ()) if one in ours}
            if len(joined) < 2 or joined != ours:
                found.append(f"call {pk} talks, and its bridge has {len(joined)} of {len(ours)} channels")
        for bridge, channels in bridges.items():
            if channels and "-monitor-" not in bridge and int(bridge.rpartition("-")[2]) not in talks:
                found.append(f"bridge {bridge} has {len(channels)} channels and no talk")
        return found

    def kill_all(self) -> list[str]:
        """Kill the service in the middle, then Asterisk. Return what is wrong."""
        files = {file for (file,) in self.rows(_FILES)}
        wrong = [] if files else ["no recording was stored"]
        self.supervise(is_heard=True)
        self.call_in()
        wait_for(lambda: self.talking(10), 20, "ten talk", step=0.01)
        self.all.kill()
        print(f"service killed with {len(self.rows(_TALKS))} talks", self.rows(_RECORDINGS), file=sys.stderr)
        time.sleep(2)
        started = time.monotonic()
        self.all.start()
        wrong += self.settled("the service was killed", started)
        print(f"{len(self.rows(_TALKS))} talks go on", file=sys.stderr)
        self.ears.forget()
        since, calls = time.time(), self.rows(_CALLS, str(TALKER))
        # Asterisk writes the sound of two seconds at a time: what it has not written when it is killed is lost.
        time.sleep(6)
        for pk, agent, outside, _direction in calls:
            if not self.ears.first(outside, AGENT_HZ, since):
                wrong.append(f"call {pk}: {outside} does not hear {agent}")
        self.switch.restart()
        started = time.monotonic()
        wrong += self.settled("Asterisk was killed", started)
        left = self.rows("SELECT count(*) FROM telephony_connection WHERE state <> 'ended'")[0][0]
        wrong += [f"{left} calls are open after the restart"] * bool(left)
        # Those of calls whose end Asterisk has not reported are looked for after a minute.
        with suppress(RuntimeError):
            wait_for(lambda: {state for state, _ in self.rows(_RECORDINGS)} == {"ready"}, 180, "recordings", step=1)
        wrong += [f"{count} recordings are {state}" for state, count in self.rows(_RECORDINGS) if state != "ready"]
        manage(self.running.environment, "verify")
        kept = {file for (file,) in self.rows(_FILES)}
        wrong += [f"recording {file} is gone" for file in files - kept]
        root = Path(self.running.environment["CALLCENTRE_VAR"])
        wrong += [f"file {file} is gone" for file in kept if not list(root.rglob(Path(file).name))]
        print("recordings", self.rows(_RECORDINGS), file=sys.stderr)
        return wrong

    def settled(self, what: str, started: float) -> list[str]:
        """Wait until rows and switch agree. Return where they differ after half a minute."""
        deadline = time.monotonic() + 30
        while True:
            try:
                found = self.differences()
            except TypeError:  # Asterisk has not started yet
                found = ["Asterisk does not answer"]
            if not found:
                self.table.add_time(f"{what}: until rows and switch agree", time.monotonic() - started, 30)
            if not found or time.monotonic() > deadline:
                return [f"after {what}: {one}" for one in found]
            time.sleep(0.2)


def measure(table: Table) -> list[str]:
    switch = Switch()
    # Callers whom a killed trial has left there would be taken for new ones, and get the agents.
    switch.restart()
    with ExitStack() as stack:
        running = stack.enter_context(service(0))
        running.environment |= switch.settings
        folder = Path(running.environment["CALLCENTRE_VAR"]) / "trial"
        folder.mkdir()
        ears = Ears(*(int(address.rpartition(":")[2]) for address in (switch.sip, switch.address)))
        switch.add_phones(stack.enter_context(far_ends(switch, folder)))
        code = "from benchmarks.sound.prepare import prepare; prepare()"
        sessions = manage(running.environment, "shell", "--verbosity=0", "-c", code).split()
        manage(running.environment, "collectstatic", "--no-input", "--verbosity=0")
        everything = stack.enter_context(processes(running))
        for number in (*AGENTS, TALKER, SUPERVISOR):
            everything.running.client().send("POST", f"/api/agents/bench{number}/login", expect=204)
        pages = stack.enter_context(browsers(everything.running, sessions, folder / "agents" / "tone.wav"))
        trial = Trial(running, everything, switch, ears, pages, table, folder)
        stack.callback(trial.say_how_it_stands)
        trial.begin_long_call()
        trial.round(trial.ask_for_calls)  # so that all have their connections
        trial.measure("30 calls asked for at once", trial.ask_for_calls, 1.0)
        trial.measure("30 callers of a queue at once", trial.call_in, 1.0)
        trial.stand_lines()
        trial.measure("30 calls of a campaign, 10 answers a second, standing lines", trial.dial, 0.3)
        return trial.kill_all()


def main() -> None:
    table = Table("Thirty agents with sound, two in browsers")
    table.head()
    if wrong := measure(table):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
