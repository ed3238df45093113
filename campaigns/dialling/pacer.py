"""The pacer of predictive campaigns: pure functions that say how many calls to start now.

docs/dialling.md explains them. No function has a clock or reads a row: the dialler passes in seconds of one clock.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

# Calls per free agent where the campaign has no value of its own.
MIN_CALLS, MAX_CALLS = 1.0, 3.0
# The last calls and handling times that the estimates use: more of them miss a swing of the answer rate.
CALLS_KEPT, HANDLINGS_KEPT = 250, 300
# Longer times come from a step of the clock, or from a row that was closed late.
LONGEST_RING, LONGEST_HANDLING = 120, 4 * 3600
# Assumptions before anything is observed, and the number of observations that each counts for.
START_RATE, START_RING, START_CALLS = 0.3, 12.0, 2
START_HANDLING, START_HANDLINGS = 180.0, 5
# Share of the expected answers that may find no agent, while drops are as many as aimed at; and at most.
EPSILON, MOST_EPSILON = 0.015, 0.1
# Force of the steering of that share, and the number of expected drops below which it is softer.
STEERING, STEERING_DROPS = 3.0, 10


class State(StrEnum):
    """The reason for the number of calls that a decision starts."""

    FEW_AGENTS = "few_agents"
    FEW_ANSWERS = "few_answers"
    DAY_LIMIT = "day_limit"
    DAYS_30_LIMIT = "days_30_limit"
    PREDICTIVE = "predictive"
    NEAR_LIMIT = "near_limit"
    MAX_CALLS = "max_calls"


@dataclass(frozen=True)
class Law:
    drop_limit: float = 0.03
    drop_aim: float = 0.025
    least_agents: int = 5
    least_answers: int = 30


class Window(NamedTuple):
    """The answers by persons in a span of time, and the drops among them."""

    live_answers: int
    drops: int

    def room(self, law: Law) -> float:
        """Return how many drops more the limit allows after one more; below zero nothing is over-dialled."""
        return round(law.drop_limit * (self.live_answers + 1) - (self.drops + 1), 9)


class Busy(NamedTuple):
    """An agent who takes another call after the present one: its begin, and the end of the wrap-up if it has begun."""

    since: float
    free_by: float = math.inf


@dataclass(frozen=True)
class Floor:
    """The agents, calls and counts of one campaign at one instant.

    `waiting` counts the persons who wait for one of these agents: callers in queues, and answered calls of the
    campaign, those in machine detection included. `ringing_since` has the calls that are not answered yet.
    """

    now: float
    free: int
    busy: Sequence[Busy]
    ringing_since: Sequence[float]
    waiting: int
    day: Window
    days_30: Window
    min_calls: float = MIN_CALLS
    max_calls: float = MAX_CALLS

    @property
    def ready(self) -> int:
        """The free agents for whom no person waits."""
        return max(0, self.free - self.waiting)


@dataclass(frozen=True)
class Pace:
    """A decision: the number of calls to start now, and the figures that explain it."""

    calls: int
    state: State
    lines_per_agent: float
    answer_rate: float
    ring_seconds: float
    handling_seconds: float
    epsilon: float
    expected_overflow: float


@dataclass(frozen=True)
class Estimates:
    """The last calls, each as (seconds, whether a person answered), and the last handling times (talk, hold, wrap-up).

    The seconds of a call end when it needs an agent, which is after machine detection, or when the ringing ends. A new
    dialler process builds the same estimates from the campaign's last attempts.
    """

    calls: tuple[tuple[float, bool], ...] = ()
    handlings: tuple[float, ...] = ()

    def observe(self, calls: Iterable[tuple[float, bool]] = (), handlings: Iterable[float] = ()) -> "Estimates":
        """Add observations, oldest first, and forget the oldest."""
        known = [call for call in calls if 0 <= call[0] <= LONGEST_RING]
        handled = [seconds for seconds in handlings if 0 <= seconds <= LONGEST_HANDLING]
        return Estimates((*self.calls, *known)[-CALLS_KEPT:], (*self.handlings, *handled)[-HANDLINGS_KEPT:])

    @cached_property
    def answer_rate(self) -> float:
        """The probability that a new call is answered by a person."""
        return (len(self._rings) + START_RATE * START_CALLS) / (len(self.calls) + START_CALLS)

    @cached_property
    def ring_seconds(self) -> float:
        """The mean time from the dial until a person needs an agent."""
        return (sum(self._rings) + START_RING * START_CALLS) / (len(self._rings) + START_CALLS)

    @cached_property
    def handling_seconds(self) -> float:
        return (sum(self.handlings) + START_HANDLING * START_HANDLINGS) / (len(self.handlings) + START_HANDLINGS)

    def answered_after(self, elapsed: float) -> float:
        """Return the probability that a call which has rung for so many seconds is still answered by a person."""
        calls, people = self._by_length
        longer = len(calls) - bisect_right(calls, (elapsed, True))
        return (people[longer] + self.answer_rate) / (longer + 1)

    def free_within(self, elapsed: float, seconds: float) -> float:
        """Return the probability that a call which has taken `elapsed` so far is over in that many seconds."""
        # The handling times longer than `elapsed` say so. An exponential one is added, which counts where they are few.
        times = self._sorted_handlings
        shorter, not_longer = bisect_right(times, elapsed), bisect_right(times, elapsed + seconds)
        assumed = START_HANDLINGS * -math.expm1(-seconds / self.handling_seconds)
        return (not_longer - shorter + assumed) / (len(times) - shorter + START_HANDLINGS)

    @cached_property
    def _rings(self) -> list[float]:
        return [seconds for seconds, is_person in self.calls if is_person]

    @cached_property
    def _by_length(self) -> tuple[list[tuple[float, bool]], list[int]]:
        """The calls in the order of their seconds, and the number of answers among none, one, two … of the longest."""
        calls = sorted(self.calls)
        return calls, list(accumulate((is_person for _, is_person in reversed(calls)), initial=0))

    @cached_property
    def _sorted_handlings(self) -> list[float]:
        return sorted(self.handlings)


class Forecast(NamedTuple):
    """The agents and answers to come within a mean ring time: their means, and the variance of their difference."""

    agents: float
    answers: float
    variance: float

    @classmethod
    def of(cls, floor: Floor, estimates: Estimates) -> "Forecast":
        """Sum the probabilities of the busy agents and of the ringing calls."""
        now, horizon = floor.now, estimates.ring_seconds
        agents = [
            1.0 if free_by <= now + horizon else estimates.free_within(max(0.0, now - since), horizon)
            for since, free_by in floor.busy
        ]
        answers = [estimates.answered_after(max(0.0, now - since)) for since in floor.ringing_since]
        variance = sum(chance * (1 - chance) for chance in agents + answers)
        return cls(floor.free - floor.waiting + sum(agents), sum(answers), variance)

    def with_calls(self, count: int, rate: float) -> "Forecast":
        """Add new calls that are answered at this rate."""
        return Forecast(self.agents, self.answers + count * rate, self.variance + count * rate * (1 - rate))

    @property
    def overflow(self) -> float:
        """The expected number of answers without an agent: E[max(0, X)] of a normal X, answers less agents."""
        mean, deviation = self.answers - self.agents, math.sqrt(max(self.variance, 1e-12))
        density = math.exp(-((mean / deviation) ** 2) / 2) / math.sqrt(2 * math.pi)
        return deviation * density + mean * math.erfc(-mean / deviation / math.sqrt(2)) / 2


def decide(floor: Floor, estimates: Estimates, law: Law) -> Pace:
    """Return the number of calls to start now, with its reason and figures."""
    forecast, rate, lines = Forecast.of(floor, estimates), estimates.answer_rate, len(floor.ringing_since)
    calls = max(0, int(floor.ready * min(1.0, floor.max_calls)) - lines)
    state, epsilon = _state(floor, law), 0.0
    if state is State.PREDICTIVE:
        epsilon = min(_epsilon(window, forecast, law) for window in (floor.day, floor.days_30))
        ahead, state = _calls_ahead(floor, forecast, rate, epsilon, law)
        calls = max(calls, ahead)
    return Pace(
        calls=calls,
        state=state,
        lines_per_agent=(lines + calls) / max(1.0, forecast.agents),
        answer_rate=rate,
        ring_seconds=estimates.ring_seconds,
        handling_seconds=estimates.handling_seconds,
        epsilon=epsilon,
        expected_overflow=forecast.with_calls(calls, rate).overflow,
    )


def _state(floor: Floor, law: Law) -> State:
    """Return the reason for which nothing may be over-dialled, or PREDICTIVE."""
    if floor.free + len(floor.busy) < law.least_agents:
        return State.FEW_AGENTS
    if floor.day.live_answers < law.least_answers:
        return State.FEW_ANSWERS
    if floor.day.room(law) < 0:
        return State.DAY_LIMIT
    return State.DAYS_30_LIMIT if floor.days_30.room(law) < 0 else State.PREDICTIVE


def _epsilon(window: Window, forecast: Forecast, law: Law) -> float:
    """Return the share of answers to risk: less after more drops than aimed at, measured in standard errors."""
    aim = law.drop_aim * window.live_answers
    excess = (window.drops + forecast.overflow - aim) / math.sqrt(aim + STEERING_DROPS)
    return EPSILON * math.exp(-max(STEERING * excess, math.log(EPSILON / MOST_EPSILON)))


def _calls_ahead(floor: Floor, forecast: Forecast, rate: float, epsilon: float, law: Law) -> tuple[int, State]:
    """Return the calls to start by the model, which may go beyond one for each free agent, and why no more."""
    lines, room, calls = len(floor.ringing_since), min(floor.day.room(law), floor.days_30.room(law)), 0
    while True:
        after = forecast.with_calls(calls + 1, rate)
        if 2 * after.overflow > room:  # drops come in bursts
            return calls, State.NEAR_LIMIT
        if after.overflow > epsilon * after.answers and lines + calls + 1 > floor.ready * floor.min_calls:
            return calls, State.PREDICTIVE
        if lines + calls + 1 > floor.max_calls * forecast.agents:
            return calls, State.MAX_CALLS
        calls += 1
