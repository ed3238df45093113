"""The discrete-event simulation of a working day: agents, calls and the people who answer them, in virtual time."""

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.dialler.rules import Rule
from benchmarks.dialler.scenarios import Scenario
from campaigns.dialling.pacer import Busy, Floor, Window

# A person who hears no agent for so long after the answer is dropped.
GRACE_SECONDS = 2.0


@dataclass(frozen=True)
class Result:
    """The figures of one simulated day."""

    occupancy: float
    live_answers: int
    drops: int
    calls: int

    @property
    def drop_rate(self) -> float:
        return self.drops / self.live_answers if self.live_answers else 0.0


class Simulation:
    """One day. Each source of chance has its own generator, so that rules meet nearly the same people."""

    def __init__(self, scenario: Scenario, rule: Rule, seed: int) -> None:
        self.scenario, self.rule, self.end = scenario, rule, float(scenario.seconds)
        self.calls_random, self.handling_random, self.presence_random = (
            Random(f"{name} {seed}") for name in ("calls", "handling", "presence")
        )
        self.phase = Random(f"phase {seed}").uniform(0, 2 * math.pi)
        self.now, self.calls, self.handled_seconds, self.free_seconds = 0.0, 0, 0.0, 0.0
        self.events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.scheduled = 0
        # Agents with the time since when they are free; the first is the one who has been free longest.
        self.free: dict[int, float] = {}
        # The begin of each call that rings or is handled: the true time, and the time that the dialler's clock showed.
        self.busy: dict[int, tuple[float, Busy]] = {}
        self.ringing: dict[int, float] = {}
        # Numbers of the answered calls: those in detection, and persons who wait for an agent.
        self.detecting: set[int] = set()
        self.waiting: deque[int] = deque()
        # Agents who have asked for a pause, or to log out, with its length.
        self.asked_away: dict[int, float] = {}
        self.total, self.before_midnight = Window(0, 0), Window(0, 0)

    def run(self) -> Result:
        """Simulate the day, and the calls that are still going on when it ends."""
        self._begin_presence()
        second, is_past_midnight = 0, False
        while second < self.end or self.events:
            while self.events and self.events[0][0] <= second:
                self.now, _, action, arguments = heapq.heappop(self.events)
                action(*arguments)
            self.now = float(second)
            midnight = self.scenario.clock.midnight
            if midnight is not None and second >= midnight and not is_past_midnight:
                is_past_midnight, self.before_midnight = True, self.total
            if second < self.end:
                self._dial(self.rule.calls(self._floor()))
            second += 1
        for agent in list(self.free):
            self._end_free_time(agent)
        worked = self.handled_seconds + self.free_seconds
        return Result(self.handled_seconds / worked, self.total.live_answers, self.total.drops, self.calls)

    def _schedule(self, seconds: float, action: Callable[..., None], *arguments: Any) -> None:
        self.scheduled += 1
        heapq.heappush(self.events, (self.now + seconds, self.scheduled, action, arguments))

    def _clock(self) -> float:
        return self.scenario.clock.read(self.now)

    def _floor(self) -> Floor:
        today = Window(
            self.total.live_answers - self.before_midnight.live_answers, self.total.drops - self.before_midnight.drops
        )
        return Floor(
            now=self._clock(),
            free=sum(agent not in self.asked_away for agent in self.free) if self.asked_away else len(self.free),
            busy=[busy for agent, (_, busy) in self.busy.items() if agent not in self.asked_away],
            ringing_since=list(self.ringing.values()),
            waiting=len(self.detecting) + len(self.waiting),
            day=today,
            days_30=self.total,
        )

    # Calls

    def _dial(self, count: int) -> None:
        answers, random = self.scenario.answers, self.calls_random
        wave = math.sin(2 * math.pi * self.now / answers.swing_period + self.phase)
        rate = answers.rate * (1 + answers.swing * wave)
        for _ in range(count):
            self.calls += 1
            self.ringing[self.calls] = self._clock()
            chance = random.random()
            if chance < rate * (1 + answers.machines):
                ring = random.uniform(answers.shortest_ring, answers.longest_ring)
                self._schedule(ring, self._answer, self.calls, chance < rate)
            else:
                ring = random.uniform(answers.shortest_unanswered, answers.longest_unanswered)
                self._schedule(ring, self._end_ringing, self.calls)

    def _end_ringing(self, call: int) -> None:
        self.rule.call_ended(self._clock() - self.ringing.pop(call), False)
        self._send_away()

    def _answer(self, call: int, is_person: bool) -> None:
        since, answers = self.ringing.pop(call), self.scenario.answers
        detection = 0.0
        if answers.machines:
            detection = self.calls_random.uniform(answers.shortest_detection, answers.longest_detection)
        self.detecting.add(call)
        self._schedule(detection, self._end_detection, call, is_person, since)
        if is_person:
            self._schedule(GRACE_SECONDS, self._drop, call)

    def _end_detection(self, call: int, is_person: bool, since: float) -> None:
        self.detecting.remove(call)
        self.rule.call_ended(self._clock() - since, is_person)
        if is_person:
            self.total = Window(self.total.live_answers + 1, self.total.drops)
            self.waiting.append(call)
            self._join()

    def _drop(self, call: int) -> None:
        if call in self.waiting:
            self.waiting.remove(call)
            self.total = Window(self.total.live_answers, self.total.drops + 1)

    def _join(self) -> None:
        if self.free and self.waiting:
            self.waiting.popleft()
            agent = next(iter(self.free))
            self._end_free_time(agent)
            self.busy[agent] = self.now, Busy(self._clock())
            handling, random = self.scenario.handling, self.handling_random
            if handling.is_exponential:
                seconds = random.expovariate(1 / handling.mean)
            else:
                variance = math.log(1 + handling.variation**2)
                seconds = random.lognormvariate(math.log(handling.mean) - variance / 2, math.sqrt(variance))
            if seconds > handling.wrap_up > 0:
                self._schedule(seconds - handling.wrap_up, self._begin_wrap_up, agent)
            self._schedule(seconds, self._end_handling, agent)

    # Agents

    def _begin_wrap_up(self, agent: int) -> None:
        start, busy = self.busy[agent]
        self.busy[agent] = start, Busy(busy.since, self._clock() + self.scenario.handling.wrap_up)

    def _end_handling(self, agent: int) -> None:
        start, busy = self.busy.pop(agent)
        self.handled_seconds += max(0.0, min(self.now, self.end) - start)
        self.rule.handled(self._clock() - busy.since)
        self._become_free(agent)

    def _become_free(self, agent: int) -> None:
        self.free[agent] = self.now
        self._send_away()
        self._join()

    def _end_free_time(self, agent: int) -> None:
        self.free_seconds += max(0.0, min(self.now, self.end) - self.free.pop(agent))

    def _begin_presence(self) -> None:
        presence, random = self.scenario.presence, self.presence_random
        for agent in range(self.scenario.agents):
            is_late = random.random() < presence.late_share
            self._schedule(random.uniform(0, presence.latest) if is_late else 0.0, self._log_in, agent)
            if random.random() < presence.leaving_share:
                leaving = self.end - random.uniform(0, presence.leaving_hours * 3600)
                self._schedule(leaving, self._ask_away, agent, math.inf)

    def _log_in(self, agent: int) -> None:
        self._become_free(agent)
        presence, random = self.scenario.presence, self.presence_random
        if presence.pause_every:
            length = random.uniform(presence.shortest_pause, presence.longest_pause)
            self._schedule(random.expovariate(1 / presence.pause_every), self._ask_away, agent, length)

    def _ask_away(self, agent: int, seconds: float) -> None:
        if self.now < self.end:
            self.asked_away[agent] = max(seconds, self.asked_away.get(agent, 0.0))
            self._send_away()

    def _send_away(self) -> None:
        """Let agents go who are in no call. A rule that holds an agent for each ringing call keeps so many of them."""
        for agent in [agent for agent in self.asked_away if agent in self.free]:
            if not self.rule.holds_agents or len(self.free) > len(self.ringing):
                seconds = self.asked_away.pop(agent)
                self._end_free_time(agent)
                if seconds < math.inf:
                    self._schedule(seconds, self._log_in, agent)
