"""Figures of webhooks and their deliveries for /metrics."""

from collections.abc import Iterable

from prometheus_client.core import Metric

from callcentre.core.monitoring import database_figures, gauge, gauges, query

# Failing and disabled webhooks, the deliveries given up within the last hour, and the seconds since the oldest one is
# due. Those of a paused or disabled webhook wait as they should.
_WEBHOOKS = """
SELECT count(*) FILTER (WHERE is_active AND failing_since IS NOT NULL),
       count(*) FILTER (WHERE disabled_because IN ('gone', 'failing')),
       COALESCE(sum(failed.count), 0)::int,
       GREATEST(EXTRACT(epoch FROM now() - min(waiting.due_at) FILTER (
         WHERE is_active AND (open_until IS NULL OR open_until <= now())
       )), 0)::float8
FROM webhooks_webhook w
CROSS JOIN LATERAL (
  SELECT count(*) FROM webhooks_delivery
  WHERE webhook_id = w.id AND state = 'failed' AND finished_at > now() - interval '1 hour'
) AS failed
CROSS JOIN LATERAL (
  SELECT min(next_attempt_at) AS due_at FROM webhooks_delivery WHERE webhook_id = w.id AND state = 'waiting'
) AS waiting
WHERE deleted_at IS NULL
"""


def figures() -> Iterable[Metric]:
    ((failing, disabled, failed, oldest),) = query(_WEBHOOKS)
    states = {"failing": failing, "disabled": disabled}
    yield gauges("callcentre_webhooks", "Webhooks that fail, and that the service disabled", "state", states)
    yield gauge("callcentre_deliveries_failed", "Deliveries given up within the last hour", failed)
    yield gauge("callcentre_delivery_oldest_seconds", "Since when the oldest delivery is due; 0 for none", oldest)


database_figures.append(figures)
