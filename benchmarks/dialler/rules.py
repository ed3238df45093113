"""The rules that the simulator compares: progressive, the published ADAPT rule, and the product's pacer."""

from collections.abc import Callable
from typing import Protocol

from campaigns.dialling.pacer import Estimates, Floor, Law, decide


class Rule(Protocol):
    """A rule of dialling: it hears what happens, and says each second how many calls to start."""

    # Whether a ringing call holds a free agent, who then neither pauses nor takes another call.
    holds_agents: bool

    def call_ended(self, seconds: float, is_person: bool) -> None: ...

    def handled(self, seconds: float) -> None: ...

    def calls(self, floor: Floor) -> int: ...


class Progressive:
    """One call for each free agent, who is held from the dial."""

    holds_agents = True

    def call_ended(self, seconds: float, is_person: bool) -> None:
        """Learn nothing."""

    def handled(self, seconds: float) -> None:
        """Learn nothing."""

    def calls(self, floor: Floor) -> int:
        return max(0, floor.free - floor.waiting - len(floor.ringing_since))


class Adapt(Progressive):
    """The rule that VICIdial published in 2013 as ADAPT_HARD_LIMIT, emulated; this is no measurement of VICIdial.

    The level of lines per agent follows every 15 seconds the mean number of agents who wait, less the calls that wait.
    Over the limit of drops it is 1. Every three seconds the lines in use are brought to the level.
    """

    holds_agents = False

    def __init__(self, drop_limit: float = 0.03, most: float = 3.0) -> None:
        self.drop_limit, self.most = drop_limit, most
        self.level, self.ticks = 1.0, 0
        self.idle = self.agents = 0

    def calls(self, floor: Floor) -> int:
        agents = floor.free + len(floor.busy)
        self.ticks += 1
        self.idle += floor.free - floor.waiting
        self.agents += agents
        if self.ticks % 15 == 0 and self.agents:
            self.level = min(self.most, max(1.0, self.level * (1 + self.idle / self.agents)))
            if floor.day.drops > self.drop_limit * floor.day.live_answers:
                self.level = 1.0
            self.idle = self.agents = 0
        if self.ticks % 3:
            return 0
        in_use = len(floor.busy) + len(floor.ringing_since) + floor.waiting
        return max(0, round(self.level * agents) - in_use)


class Pacer:
    """The product's pacer, which estimates everything itself."""

    holds_agents = False

    def __init__(self, law: Law = Law()) -> None:  # noqa: B008  (frozen)
        self.law, self.estimates = law, Estimates()

    def call_ended(self, seconds: float, is_person: bool) -> None:
        self.estimates = self.estimates.observe(calls=[(seconds, is_person)])

    def handled(self, seconds: float) -> None:
        self.estimates = self.estimates.observe(handlings=[seconds])

    def calls(self, floor: Floor) -> int:
        return decide(floor, self.estimates, self.law).calls


# Each makes a rule that keeps this limit of drops.
RULES: dict[str, Callable[[float], Rule]] = {
    "progressive": lambda limit: Progressive(),
    "ADAPT": Adapt,
    "ours": lambda limit: Pacer(Law(drop_limit=limit, drop_aim=limit * Law.drop_aim / Law.drop_limit)),
}
