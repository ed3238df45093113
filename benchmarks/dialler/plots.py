"""The pictures of docs/dialling.md, drawn with matplotlib, which only developers install."""

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.dialler.runs import DROP_LIMIT, Days
from benchmarks.dialler.scenarios import SIZES, Scenario

mpl.use("Agg")
STYLES = {"progressive": ("#7a7a7a", ":"), "ADAPT": ("#c2571a", "--"), "ours": ("#1f5fa8", "-")}
DPI = 100


def plot_occupancy(days: dict[tuple[Scenario, str, float], Days], path: Path) -> None:
    """Draw the occupancy of each rule against the drops that it is allowed, a panel for each number of agents."""
    scenarios = sorted({scenario for scenario, _, _ in days}, key=lambda scenario: scenario.agents)
    limits = sorted({limit for _, _, limit in days})
    figure, panels = plt.subplots(1, len(scenarios), figsize=(9.6, 3.2), sharey=True, layout="constrained")
    for scenario, panel in zip(scenarios, panels, strict=True):
        for rule, (colour, line) in STYLES.items():
            occupancy = [100 * days[scenario, rule, limit].occupancy for limit in limits]
            panel.plot([100 * limit for limit in limits], occupancy, line, color=colour, label=rule, marker=".")
        panel.set_title(f"{scenario.agents} agents", fontsize=10)
        panel.set_xlabel("allowed drops, %")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("occupancy, %")
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def plot_drops(days: dict[Scenario, Days], path: Path) -> None:
    """Draw the drop rate and the occupancy of each simulated day."""
    figure, panel = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    for size, colour in zip(SIZES, plt.get_cmap("viridis").resampled(len(SIZES)).colors, strict=True):  # type: ignore[attr-defined]
        results = [result for scenario, found in days.items() if scenario.agents == size for result in found.results]
        panel.scatter(
            [100 * result.occupancy for result in results],
            [100 * result.drop_rate for result in results],
            s=14,
            color=colour,
            label=f"{size} agents",
        )
    panel.axhline(100 * DROP_LIMIT, color="#b00020", linewidth=1)
    panel.set_ylim(0, 3.3)
    panel.set_xlabel("occupancy, %")
    panel.set_ylabel("drop rate of the day, %")
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8, loc="lower left")
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
