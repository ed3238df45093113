"""Figures of the dialling for /metrics, and the check of /health/dialling."""

from collections.abc import Iterable
from typing import Any

from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric

from callcentre.core.monitoring import NotReadyError, database_figures, gauge, gauges, probes, query
from callcentre.core.statements import Statement
from campaigns.dialling.ownership import DIALLER, HOLDERS
from campaigns.models.dialling import ALL_DIALLING_RUNS

# Campaigns whose dialling is running, unless all dialling is switched off; and whether a dialler has each.
CAMPAIGNS = Statement("""
SELECT count(*), count(*) FILTER (WHERE id NOT IN (SELECT key FROM ({holders}) AS held))
FROM campaigns_campaign
WHERE is_dialling AND is_active AND start_date <= '{{day}}' AND (end_date IS NULL OR end_date >= '{{day}}')
  AND {all_dialling_runs}
""").of(holders=HOLDERS, all_dialling_runs=ALL_DIALLING_RUNS)
_TRUNK = """
SELECT COALESCE(max(EXTRACT(epoch FROM now() - began_at)), 0)::float8 FROM campaigns_trunkfailure WHERE ended_at IS NULL
"""
_COUNTS = ("attempts", "live_answers", "drops", "machines")
_TODAY = Statement("""
SELECT {counts}
FROM campaigns_diallingday WHERE day = '{{day}}'
""").of(counts=", ".join(f"COALESCE(sum({name}), 0)::int" for name in _COUNTS))
# The law counts the day and the last 30 days, each by itself (docs/dialling.md).
_DROPS = """
SELECT code, span, sum(drops)::int, sum(live_answers)::int
FROM campaigns_diallingday d JOIN campaigns_campaign c ON c.id = d.campaign_id
CROSS JOIN (VALUES ('day', 1), ('days_30', 30)) AS spans(span, days)
WHERE day > date '{day}' - days GROUP BY c.id, span HAVING sum(drops) > 0
"""


def _of_today(statement: str) -> list[tuple[Any, ...]]:
    return query(statement.format(day=timezone.localdate().isoformat()))


def check_dialling() -> None:
    """Fail if campaigns are to be dialled and no process has them."""
    ((_, without_dialler),) = _of_today(CAMPAIGNS)
    if without_dialler:
        raise NotReadyError(f"{without_dialler} campaigns are to be dialled, and no dialler has them.")


probes["dialling"] = check_dialling


def figures() -> Iterable[Metric]:
    silences = [seconds for key, seconds in query(HOLDERS) if key == DIALLER]
    ((to_dial, without_dialler),) = _of_today(CAMPAIGNS)
    yield gauge("callcentre_diallers", "Processes that dial for campaigns", len(silences))
    if silences:
        longest = max(0.0, *silences)
        yield gauge("callcentre_dialler_silent_seconds", "Longest time since a dialler's last activity", longest)
    yield gauge("callcentre_campaigns_to_dial", "Campaigns whose dialling is running", to_dial)
    yield gauge("callcentre_campaigns_without_dialler", "Those among them that no dialler has", without_dialler)
    yield gauge(
        "callcentre_trunk_failed_seconds",
        "Time since calls stopped getting through the trunk; 0: they do",
        query(_TRUNK)[0][0],
    )
    yield gauges(
        "callcentre_dialling_today",
        "Counts of the day, of all campaigns",
        "count",
        dict(zip(_COUNTS, *_of_today(_TODAY), strict=True)),
    )
    labels = ["campaign", "span"]
    drops = GaugeMetricFamily("callcentre_campaign_drops", "Drops of a campaign, if it has any", labels=labels)
    answers = GaugeMetricFamily("callcentre_campaign_live_answers", "Its answers of persons", labels=labels)
    for code, span, dropped, answered in _of_today(_DROPS):
        drops.add_metric([code, span], dropped)
        answers.add_metric([code, span], answered)
    yield from (drops, answers)


database_figures.append(figures)
