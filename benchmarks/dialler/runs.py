"""Runs of many simulated days in two processes, as each day takes up to twenty seconds of one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from statistics import fmean

from benchmarks.dialler.rules import RULES
from benchmarks.dialler.scenarios import Scenario
from benchmarks.dialler.simulation import Result, Simulation

PROCESSES = 2
DROP_LIMIT = 0.03


@dataclass(frozen=True)
class Run:
    """One day to simulate: the scenario, the rule with its limit of drops, and the seed."""

    scenario: Scenario
    rule: str
    seed: int
    drop_limit: float = DROP_LIMIT


@dataclass(frozen=True)
class Days:
    """The days of one scenario, rule and limit, one for each seed."""

    results: tuple[Result, ...]

    @property
    def occupancy(self) -> float:
        return fmean(result.occupancy for result in self.results)

    @property
    def drop_rate(self) -> float:
        return fmean(result.drop_rate for result in self.results)

    @property
    def worst_drop_rate(self) -> float:
        return max(result.drop_rate for result in self.results)


def simulate(run: Run) -> Result:
    rule = RULES[run.rule](run.drop_limit)
    return Simulation(run.scenario, rule, run.seed).run()


def simulate_days(
    scenarios: Iterable[Scenario],
    rules: Iterable[str],
    seeds: Sequence[int],
    drop_limits: Sequence[float] = (DROP_LIMIT,),
) -> dict[tuple[Scenario, str, float], Days]:
    """Simulate each scenario by each rule with each limit and seed."""
    keys = [(scenario, rule, limit) for scenario in scenarios for rule in rules for limit in drop_limits]
    runs = [Run(scenario, rule, seed, limit) for scenario, rule, limit in keys for seed in seeds]
    with Pool(PROCESSES) as pool:
        results = pool.map(simulate, runs, chunksize=1)
    return {key: Days(tuple(results[n * len(seeds) : (n + 1) * len(seeds)])) for n, key in enumerate(keys)}
