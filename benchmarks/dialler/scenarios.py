"""The scenarios of the simulator: agents, the people whom they call, and what disturbs both."""

from dataclasses import dataclass
from itertools import product

HOUR = 3600.0
SIZES = (5, 10, 20, 50, 150)
# Constants of the pacer were chosen with the first; the results come from the others.
TUNING_SEEDS = range(100, 108)
JUDGING_SEEDS = range(900, 908)
# Runs of each scenario of the grid.
GRID_SEEDS = JUDGING_SEEDS[:2]


@dataclass(frozen=True)
class Answers:
    """The people who are called. The answer rate follows a sine of the given swing, whose period is one hour."""

    rate: float = 0.3
    swing: float = 0.0
    # Of the calls that a person does not answer, these many per answer of a person reach a machine.
    machines: float = 0.0
    shortest_ring: float = 4.0
    longest_ring: float = 20.0
    shortest_unanswered: float = 5.0
    longest_unanswered: float = 25.0
    swing_period: float = HOUR
    shortest_detection: float = 0.4
    longest_detection: float = 1.6

    @property
    def label(self) -> str:
        return f"{self.rate:.0%}" + (f" ± {self.swing:.0%}" if self.swing else "")


@dataclass(frozen=True)
class Handling:
    """The time that an agent needs for a call: log-normal with a coefficient of variation of 0.8, or exponential."""

    mean: float = 120.0
    is_exponential: bool = False
    # The last seconds of it, whose end the dialler knows.
    wrap_up: float = 0.0
    variation: float = 0.8

    @property
    def label(self) -> str:
        return f"{self.mean:.0f} s {'exponential' if self.is_exponential else 'log-normal'}"


@dataclass(frozen=True)
class Presence:
    """The comings and goings of the agents. A pause or log-out that is asked for in a call waits for its end."""

    late_share: float = 0.0
    latest: float = 0.5 * HOUR
    pause_every: float | None = None
    shortest_pause: float = 300.0
    longest_pause: float = 1200.0
    leaving_share: float = 0.0
    # They leave in the last hours.
    leaving_hours: float = 3.0


@dataclass(frozen=True)
class Clock:
    """The clock that the dialler reads: its steps, as (time, offset since), and the instant of midnight."""

    steps: tuple[tuple[float, float], ...] = ()
    midnight: float | None = None

    def read(self, now: float) -> float:
        """Return the time that the clock shows."""
        offset = 0.0
        for since, new in self.steps:
            if now >= since:
                offset = new
        return now + offset


@dataclass(frozen=True)
class Scenario:
    """A working day of one campaign."""

    agents: int
    kind: str = "steady"
    answers: Answers = Answers()
    handling: Handling = Handling()
    presence: Presence = Presence()
    clock: Clock = Clock()
    seconds: int = int(8 * HOUR)

    @property
    def label(self) -> str:
        return f"{self.agents} agents, {self.answers.label}, {self.handling.label}, {self.kind}"


ANSWERS = (Answers(0.15), Answers(0.3), Answers(0.5), Answers(0.3, swing=0.5))
HANDLINGS = (Handling(60), Handling(120), Handling(180), Handling(120, is_exponential=True))
# A third come late, each pauses every hour and a half, a fifth log out early.
RESTLESS = Presence(late_share=0.33, pause_every=1.5 * HOUR, leaving_share=0.2)
# From 22:00. The clock is set an hour forward after four hours, and back after six.
NIGHT = Clock(steps=((4 * HOUR, HOUR), (6 * HOUR, 0.0)), midnight=2 * HOUR)


def compared_scenarios() -> list[Scenario]:
    """Return the scenario that the goals of occupancy are about, in each size."""
    return [Scenario(agents) for agents in SIZES]


def grid_scenarios() -> list[Scenario]:
    """Return the scenarios whose drop rate is judged."""
    grid = [Scenario(agents, answers=a, handling=h) for agents, a, h in product(SIZES, ANSWERS, HANDLINGS)]
    wrap_up = Handling(wrap_up=30.0)
    for agents, a in product(SIZES, ANSWERS):
        grid += [
            Scenario(agents, "pauses", a, wrap_up, RESTLESS),
            Scenario(agents, "night, clock changes", a, wrap_up, RESTLESS, NIGHT),
            Scenario(agents, "machines", Answers(a.rate, a.swing, machines=0.3)),
        ]
    return grid
