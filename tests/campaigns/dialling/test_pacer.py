"""The pacer keeps the law, the campaign's bounds and its own formula, also over simulated hours."""

import ast
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.dialler.rules import Pacer, Progressive
from benchmarks.dialler.scenarios import HOUR, NIGHT, RESTLESS, Answers, Clock, Handling, Scenario
from benchmarks.dialler.simulation import Simulation
from campaigns.dialling import pacer
from campaigns.dialling.pacer import Busy, Estimates, Floor, Forecast, Law, State, Window, decide

LAW = Law()
NOW = 1_000_000.0
# Three in ten calls are answered after 12 s, the others end after 20 s. Handling is exponential, 120 s in the mean.
USUAL = Estimates().observe(
    calls=[*[(12.0, True)] * 3, *[(20.0, False)] * 7] * 25,
    handlings=[-120 * math.log(1 - (n + 0.5) / 300) for n in range(300)],
)
FRESH = Window(1000, 10)


def floor_of(free: int, busy: int = 0, ringing: int = 0, **changes: Any) -> Floor:
    """Build a floor with calls that have just begun, and counts that allow over-dialling."""
    floor = Floor(NOW, free, [Busy(NOW - 60)] * busy, [NOW] * ringing, waiting=0, day=FRESH, days_30=FRESH)
    return replace(floor, **changes)


instants = st.floats(NOW - 4000, NOW + 4000)
counts = st.integers(0, 3000).flatmap(
    lambda answers: st.integers(0, max(1, answers // 20)).map(lambda drops: Window(answers, min(answers, drops)))
)
observed = st.lists(st.tuples(st.floats(0, 40), st.booleans()), max_size=60)
estimated = st.builds(
    lambda calls, handlings: Estimates().observe(calls, handlings),
    observed,
    st.lists(st.floats(0, 900), max_size=40),
)
floors = st.builds(
    Floor,
    now=st.just(NOW),
    free=st.integers(0, 40),
    busy=st.lists(st.builds(Busy, instants, st.one_of(st.just(math.inf), instants)), max_size=40),
    ringing_since=st.lists(instants, max_size=60),
    waiting=st.integers(0, 10),
    day=counts,
    days_30=counts,
    min_calls=st.sampled_from([1.0, 1.5, 3.0]),
    max_calls=st.sampled_from([0.5, 1.0, 2.0, 3.0, 10.0]),
)


# The law


def spends_the_limit(window: Window) -> bool:
    """Tell in whole numbers whether drops + 1 is more than 3 % of live answers + 1."""
    return 100 * (window.drops + 1) > 3 * (window.live_answers + 1)


@pytest.mark.slow("runs many examples")
@given(floors, estimated)
def test_nothing_is_over_dialled_beyond_the_law(floor, estimates):
    assume(
        spends_the_limit(floor.day)
        or spends_the_limit(floor.days_30)
        or floor.free + len(floor.busy) < 5
        or floor.day.live_answers < 30
    )

    pace = decide(floor, estimates, LAW)

    assert pace.calls == max(0, int(floor.ready * min(1.0, floor.max_calls)) - len(floor.ringing_since))
    assert pace.epsilon == 0


def test_a_spent_limit_means_one_call_for_each_free_agent():
    for day, days_30, state in [
        (Window(29, 0), FRESH, State.FEW_ANSWERS),
        (Window(32, 0), FRESH, State.DAY_LIMIT),
        (Window(98, 2), FRESH, State.DAY_LIMIT),
        (FRESH, Window(2000, 60), State.DAYS_30_LIMIT),
    ]:
        pace = decide(floor_of(10, day=day, days_30=days_30), USUAL, LAW)

        assert (pace.calls, pace.state) == (10, state)


def test_four_agents_are_dialled_for_one_to_one():
    assert decide(floor_of(4), USUAL, LAW).calls == 4
    assert decide(floor_of(4), USUAL, LAW).state is State.FEW_AGENTS
    assert decide(floor_of(4, busy=1), USUAL, LAW).calls > 4


def test_the_thirty_third_answer_without_a_drop_allows_over_dialling():
    assert Window(32, 0).room(LAW) < 0
    assert Window(33, 0).room(LAW) > 0
    # Exactly 3 % are allowed.
    assert Window(99, 2).room(LAW) == 0


@given(counts)
def test_the_room_below_the_limit_is_exact(window):
    assert (window.room(LAW) < 0) == spends_the_limit(window)


# The campaign's bounds


@given(floors, estimated)
def test_calls_stay_within_the_campaign_s_bounds_and_the_room_for_drops(floor, estimates):
    pace = decide(floor, estimates, LAW)

    if pace.calls and len(floor.ringing_since) + pace.calls > floor.ready:
        assert pace.expected_overflow <= min(floor.day.room(LAW), floor.days_30.room(LAW)) + 1e-9
    lines, most_agents = len(floor.ringing_since) + pace.calls, max(0, floor.free + len(floor.busy) - floor.waiting)
    assert pace.calls == 0 or lines <= floor.max_calls * most_agents
    assert lines >= int(floor.ready * min(1.0, floor.max_calls))


def test_the_maximum_caps_the_calls_for_free_agents():
    pace = decide(floor_of(10, max_calls=1.2), USUAL, LAW)

    assert (pace.calls, pace.state, pace.lines_per_agent) == (12, State.MAX_CALLS, 1.2)


def test_the_maximum_wins_over_one_to_one_and_over_the_minimum():
    assert decide(floor_of(10, min_calls=2.0, max_calls=0.5), USUAL, LAW).calls == 5
    assert decide(floor_of(10, max_calls=0.5, day=Window(10, 0)), USUAL, LAW).calls == 5


def test_the_minimum_adds_calls_where_the_law_allows_them():
    day = Window(1000, 25)
    model = decide(floor_of(10, day=day), USUAL, LAW).calls
    raised = decide(floor_of(10, min_calls=2.8, day=day), USUAL, LAW)

    assert model < raised.calls == 28
    assert decide(floor_of(10, min_calls=2.8, day=Window(98, 2)), USUAL, LAW).calls == 10


def test_the_minimum_does_not_use_up_the_last_room_for_drops():
    pace = decide(floor_of(20, min_calls=3.0, day=Window(70, 1)), USUAL, LAW)

    assert pace.state is State.NEAR_LIMIT
    assert pace.expected_overflow <= 0.13


# The formula


@given(floors, estimated)
def test_a_further_agent_never_means_fewer_calls_and_a_further_caller_or_drop_never_more(floor, estimates):
    day = Window(floor.day.live_answers, floor.day.drops + 1)
    changes: list[dict[str, Any]] = [{"free": floor.free + 1}, {}, {"waiting": floor.waiting + 1}, {"day": day}]

    more, same, *fewer = (decide(replace(floor, **changed), estimates, LAW).calls for changed in changes)

    assert more >= same >= max(fewer)


def test_waiting_callers_take_free_agents():
    assert decide(floor_of(8, waiting=3, day=Window(0, 0)), USUAL, LAW).calls == 5
    assert decide(floor_of(3, busy=4, waiting=8), USUAL, LAW).calls == 0


def test_calls_are_started_for_agents_who_become_free():
    assert decide(floor_of(0, busy=100), USUAL, LAW).calls > 0


def test_agents_in_their_last_seconds_of_wrap_up_count_as_free():
    wrapping_up = replace(floor_of(0), busy=[Busy(NOW - 60, NOW + 11)] * 20)

    assert Forecast.of(wrapping_up, USUAL).agents == 20
    assert decide(wrapping_up, USUAL, LAW).calls == decide(floor_of(20), USUAL, LAW).calls


def test_more_drops_than_aimed_at_lower_the_risk_that_is_taken():
    above, at_aim, below = (
        decide(floor_of(10, busy=10, day=Window(1000, drops), days_30=Window(1000, drops)), USUAL, LAW)
        for drops in (28, 25, 15)
    )

    assert above.epsilon < at_aim.epsilon < below.epsilon <= 0.1001
    assert above.calls <= at_aim.calls <= below.calls


def test_the_window_with_more_drops_decides():
    drops = [(15, 28), (28, 15), (28, 28)]
    epsilons = {
        decide(floor_of(10, day=Window(1000, day), days_30=Window(1000, month)), USUAL, LAW).epsilon
        for day, month in drops
    }

    assert len(epsilons) == 1


def test_the_worked_example_of_the_documents():
    windows = [Window(400, drops) for drops in (9, 10, 11, 12)]
    floors = [floor_of(3, busy=17, ringing=4, day=window, days_30=window) for window in windows]

    forecast, paces = Forecast.of(floors[0], USUAL), [decide(floor, USUAL, LAW) for floor in floors]

    assert forecast == pytest.approx((4.588, 1.2, 2.28), abs=0.001)
    overflows = [forecast.with_calls(calls, 0.3).overflow for calls in range(5)]
    assert overflows == pytest.approx([0.0065, 0.015, 0.030, 0.055, 0.091], abs=0.0005)
    assert [pace.calls for pace in paces] == [3, 1, 0, 0]
    assert [pace.state for pace in paces] == [State.PREDICTIVE] * 2 + [State.NEAR_LIMIT, State.DAY_LIMIT]
    assert (paces[0].epsilon, paces[0].expected_overflow) == pytest.approx((0.0292, 0.0549), abs=0.0001)
    assert (paces[0].lines_per_agent, paces[0].handling_seconds) == pytest.approx((1.53, 120.8), abs=0.05)


def test_expected_overflow_is_that_of_a_normal_distribution():
    assert Forecast(agents=5, answers=5, variance=4).overflow == pytest.approx(2 / math.sqrt(2 * math.pi))
    assert Forecast(agents=2, answers=6, variance=0).overflow == pytest.approx(4)
    assert Forecast(agents=90, answers=2, variance=4).overflow == pytest.approx(0)


# Estimates


@given(estimated, st.floats(0, 5000), st.floats(0, 60), st.floats(0, 60))
def test_estimates_are_probabilities(estimates, elapsed, one, other):
    sooner, later = sorted((one, other))

    assert 0 < estimates.answer_rate < 1
    assert all(0 <= estimates.answered_after(seconds) <= 1 for seconds in range(121))
    assert 0 <= estimates.free_within(elapsed, sooner) <= estimates.free_within(elapsed, later) <= 1


@given(observed)
def test_estimates_built_from_rows_are_those_of_the_running_process(calls):
    running = Estimates()
    for call in calls:
        running = running.observe(calls=[call], handlings=[call[0]])

    assert running == Estimates().observe(calls, [seconds for seconds, _ in calls])


def test_few_observations_weigh_little():
    assert Estimates().answer_rate == 0.3
    assert Estimates().observe(calls=[(5.0, True)]).answer_rate == pytest.approx(1.6 / 3)
    assert Estimates().handling_seconds == 180
    assert Estimates().free_within(0, 12) == pytest.approx(1 - math.exp(-12 / 180))


def test_old_observations_are_forgotten_and_times_that_a_step_of_the_clock_falsified_left_out():
    changed = USUAL.observe(calls=[(8.0, True)] * 250, handlings=[30.0] * 300)

    assert changed.answer_rate > 0.99
    assert changed.handling_seconds < 33
    assert len(changed.calls) == 250
    assert USUAL.observe(calls=[(-3590.0, True), (3610.0, True)], handlings=[-3500.0, 90_000.0]) == USUAL


def test_a_call_that_has_rung_longer_than_answers_take_is_hardly_answered():
    assert USUAL.answered_after(0) == pytest.approx(0.3, abs=0.01)
    assert USUAL.answered_after(15) < 0.01


def test_a_call_that_rings_while_others_were_busy_at_once_is_probably_answered():
    quick = Estimates().observe(calls=[(0.3, False)] * 140 + [(1.2, True)] * 60)

    assert quick.answered_after(0) == pytest.approx(0.3, abs=0.01)
    assert quick.answered_after(0.5) > 0.95


def test_handling_times_say_when_an_agent_becomes_free():
    even = Estimates().observe(handlings=[60.0] * 300)

    assert even.free_within(10, 12) < 0.01
    assert even.free_within(55, 12) > 0.95
    # No call has taken so long: an exponential time is assumed.
    assert even.free_within(100, 12) == pytest.approx(1 - math.exp(-12 / 62), abs=0.01)


def test_the_pacer_imports_only_calculation():
    tree = ast.parse(Path(pacer.__file__).read_text())
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} | {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }

    assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names - {"time", "datetime", "random"}


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
def test_simulated_hours_stay_within_the_law(scenario):
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


def test_the_pacer_keeps_agents_busier_than_progressive_dialling():
    ahead, one_to_one = (Simulation(STEADY, rule, seed=1).run() for rule in (Watched(), Progressive()))

    assert ahead.occupancy > one_to_one.occupancy
    assert one_to_one.drops == 0


def test_a_simulated_day_is_repeatable():
    scenario = replace(CHANGING, clock=NIGHT, seconds=1200)

    assert Simulation(scenario, Pacer(), seed=2).run() == Simulation(scenario, Pacer(), seed=2).run()


def test_restless_agents_are_never_dropped_on_by_progressive_dialling():
    result = Simulation(replace(CHANGING, answers=Answers(0.5)), Progressive(), seed=3).run()

    assert result.live_answers > 100
    assert result.drops == 0
