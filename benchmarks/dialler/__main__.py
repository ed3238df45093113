"""Simulate campaigns, print the tables of docs/dialling.md and, with `--plots DIR`, draw its pictures.

python -m benchmarks.dialler [--quick] [--tuning] [--plots DIR]
"""

from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from statistics import fmean

from benchmarks.dialler.rules import RULES
from benchmarks.dialler.runs import DROP_LIMIT, Days, simulate_days
from benchmarks.dialler.scenarios import (
    GRID_SEEDS,
    JUDGING_SEEDS,
    SIZES,
    TUNING_SEEDS,
    Scenario,
    compared_scenarios,
    grid_scenarios,
)

OCCUPANCY_GOALS = {5: 0.73, 10: 0.77, 20: 0.83, 50: 0.89}
MEAN_DROP_GOAL = 0.028
PLOTTED_LIMITS = (0.01, 0.02, 0.03, 0.04, 0.05)
PLOTTED_SEEDS = 3


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.dialler", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few scenarios with one seed")
    parser.add_argument("--tuning", action="store_true", help="the seeds for tuning instead of those for judging")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write PNG files into this folder (needs matplotlib)")
    options = parser.parse_args()
    seeds = TUNING_SEEDS if options.tuning else JUDGING_SEEDS
    grid_seeds = seeds[: 1 if options.quick else len(GRID_SEEDS)]
    compare_rules(seeds[: 1 if options.quick else len(seeds)])
    grid = judge_grid(grid_scenarios()[:: 9 if options.quick else 1], grid_seeds)
    if options.plots:
        plots = import_module("benchmarks.dialler.plots")
        options.plots.mkdir(parents=True, exist_ok=True)
        plotted = [scenario for scenario in compared_scenarios() if scenario.agents in OCCUPANCY_GOALS]
        days = simulate_days(plotted, RULES, seeds[: 1 if options.quick else PLOTTED_SEEDS], PLOTTED_LIMITS)
        plots.plot_occupancy(days, options.plots / "dialling-occupancy.png")
        plots.plot_drops(grid, options.plots / "dialling-drops.png")


def compare_rules(seeds: range) -> None:
    """Print occupancy and drops of each rule in the scenario of the goals."""
    days = simulate_days(compared_scenarios(), RULES, seeds)
    print(f"\n## Rules compared: 30 % live answers, handling 120 s, {len(seeds)} days each\n")
    print("Occupancy %, mean drop rate %, worst day's drop rate %:\n")
    print_row("rule", *(f"{size} agents" for size in SIZES))
    print_row(*["---"] * (len(SIZES) + 1))
    for rule in RULES:
        cells = (days[scenario, rule, DROP_LIMIT] for scenario in compared_scenarios())
        print_row(rule, *(f"{c.occupancy:.1%} / {c.drop_rate:.2%} / {c.worst_drop_rate:.2%}" for c in cells))
    goals = []
    for scenario in compared_scenarios():
        goal, ours = OCCUPANCY_GOALS.get(scenario.agents), days[scenario, "ours", DROP_LIMIT].occupancy
        goals.append(f"≥ {goal:.0%}: {'met' if ours >= goal else 'MISSED'}" if goal else "")
    print_row("goal of occupancy", *goals)


def judge_grid(scenarios: list[Scenario], seeds: range) -> dict[Scenario, Days]:
    """Print the drops of the product's pacer in each scenario."""
    days = {scenario: found for (scenario, _, _), found in simulate_days(scenarios, ["ours"], seeds).items()}
    print(f"\n## Each scenario, {len(seeds)} days each: occupancy / worst day's drop rate\n")
    print_row("live answers, handling, kind", *(f"{size} agents" for size in SIZES))
    print_row(*["---"] * (len(SIZES) + 1))
    rows: dict[str, dict[int, str]] = {}
    for scenario, found in days.items():
        cells = rows.setdefault(scenario.label.partition(", ")[2], {})
        cells[scenario.agents] = f"{found.occupancy:.1%} / {found.worst_drop_rate:.2%}"
    for label, cells in rows.items():
        print_row(label, *(cells.get(size, "") for size in SIZES))
    rates = [result.drop_rate for found in days.values() for result in found.results]
    worst, mean = max(rates), fmean(rates)
    verdicts = ("met" if ok else "MISSED" for ok in (worst <= DROP_LIMIT, mean <= MEAN_DROP_GOAL))
    print(f"\n{len(rates)} days of 8 hours: worst drop rate {worst:.2%} (goal ≤ 3.00%: {next(verdicts)}), ", end="")
    print(f"mean {mean:.2%} (goal ≤ 2.80%: {next(verdicts)})", flush=True)
    return days


def print_row(*cells: str) -> None:
    print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
