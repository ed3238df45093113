"""The pacer keeps the law over simulated hours, while it estimates everything itself."""

from dataclasses import replace

import pytest

from benchmarks.dialler.rules import Pacer, Progressive
from benchmarks.dialler.scenarios import HOUR, NIGHT, RESTLESS, Answers, Clock, Handling, Scenario
from benchmarks.dialler.simulation import Simulation
from campaigns.dialling.pacer import Floor

STEADY = Scenario(8, handling=Handling(60), seconds=int(1.5 * HOUR))
CHANGING = Scenario(
    10,
    answers=Answers(0.3, swing=0.5, machines=0.3),
    handling=Handling(60, wrap_up=30),
    presence=replace(RESTLESS, pause_every=HOUR / 2),
    clock=Clock(((1000, HOUR), (3000, 0.0)), midnight=2000),
    seconds=int(1.5 * HOUR),
)


class Watched(Pacer):
    """The pacer, with a record of the calls that it starts beyond one for each free agent."""

    def __init__(self) -> None:
        super().__init__()
        self.over_dialled: list[Floor] = []

    def calls(self, floor: Floor) -> int:
        count = super().calls(floor)
        if count and len(floor.ringing_since) + count > floor.ready:
            self.over_dialled.append(floor)
        return count


@pytest.mark.parametrize("scenario", [STEADY, CHANGING], ids=["steady", "changing"])
def test_simulated_hours_stay_within_the_law(scenario: Scenario) -> None:
    rule = Watched()

    result = Simulation(scenario, rule, seed=1).run()

    assert rule.over_dialled
    for floor in rule.over_dialled:
        for window in (floor.day, floor.days_30):
            assert 100 * (window.drops + 1) <= 3 * (window.live_answers + 1)
        assert floor.free + len(floor.busy) >= 5
        assert floor.day.live_answers >= 30
    assert result.live_answers > 100
    assert result.drop_rate <= 0.03


def test_the_pacer_keeps_agents_busier_than_progressive_dialling() -> None:
    ahead, one_to_one = (Simulation(STEADY, rule, seed=1).run() for rule in (Watched(), Progressive()))

    assert ahead.occupancy > one_to_one.occupancy
    assert one_to_one.drops == 0


def test_a_simulated_day_is_repeatable() -> None:
    scenario = replace(CHANGING, clock=NIGHT, seconds=1200)

    assert Simulation(scenario, Pacer(), seed=2).run() == Simulation(scenario, Pacer(), seed=2).run()


def test_restless_agents_are_never_dropped_on_by_progressive_dialling() -> None:
    result = Simulation(replace(CHANGING, answers=Answers(0.5)), Progressive(), seed=3).run()

    assert result.live_answers > 100
    assert result.drops == 0
