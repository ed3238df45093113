"""The waiting callers and agents of queues, and the estimated wait, in one statement for any number of queues."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from callcentre.core.statements import Statement, rows_of
from telephony.customers import customers_of
from telephony.models import Connection, Queue
from telephony.models.skill import IS_ABLE, SKILLS_OF_MEMBER

# The assumed length of a call in a queue that has had none.
USUAL_CALL_SECONDS = 180

_SITUATIONS = Statement("""
SELECT q.id, w.waiting, w.since, b.callbacks, a.free, a.serving,
       trunc(q.wrap_up_seconds + COALESCE(h.seconds, %s))::int
FROM telephony_queue q
CROSS JOIN LATERAL (
  SELECT count(*) AS waiting, min(c.waiting_since) AS since FROM telephony_connection c
  WHERE c.state = 'waiting' AND c.queue_id = q.id
) w
CROSS JOIN LATERAL (
  SELECT count(*) AS callbacks FROM telephony_callback WHERE state = 'waiting' AND queue_id = q.id
) b
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE st.kind = 'free') AS free,
         count(*) FILTER (WHERE st.kind IS DISTINCT FROM 'paused') AS serving
  FROM telephony_queuemember m {skills_of_member}
  JOIN telephony_agent ag ON ag.id = m.agent_id AND ag.is_active
  JOIN telephony_agentsession s ON s.agent_id = m.agent_id AND s.ended_at IS NULL
  LEFT JOIN telephony_agentstate st ON st.agent_id = m.agent_id AND st.ended_at IS NULL
  WHERE m.queue_id = q.id AND {is_able}
) a
CROSS JOIN LATERAL (
  SELECT avg(GREATEST(extract(epoch FROM c.ended_at - c.answered_at), 0)) AS seconds FROM (
    SELECT answered_at, ended_at FROM telephony_connection
    WHERE queue_id = q.id ORDER BY created_at DESC, id DESC LIMIT 100
  ) c WHERE c.answered_at IS NOT NULL AND c.ended_at IS NOT NULL
) h
WHERE q.id = ANY(%s)
""").of(skills_of_member=SKILLS_OF_MEMBER, is_able=IS_ABLE)


@dataclass(frozen=True, slots=True)
class Situation:
    """The present state of a queue. Of the agents with the required skills, `free` ones can be rung at once.

    `serving` ones are logged in and not paused.
    """

    waiting: int
    longest_since: datetime | None
    # People who wait in a place of the queue to be called back.
    callbacks: int
    free: int
    serving: int
    # The average time of an agent for a call: the talk of the queue's last calls, and the wrap-up.
    handle_seconds: int

    @property
    def estimated_seconds(self) -> int | None:
        """The estimated wait of a caller who enters now; None without agents."""
        return self.estimate(self.waiting + self.callbacks + 1)

    def estimate(self, place: int) -> int | None:
        """Return the estimated wait of the caller at this place; None without agents."""
        if not self.serving:
            return None
        before = max(place - self.free, 0)
        return math.ceil(before * self.handle_seconds / self.serving)


def situations(queue_ids: Collection[int]) -> dict[int, Situation]:
    rows = rows_of(_SITUATIONS, [USUAL_CALL_SECONDS, list(queue_ids)])
    return {pk: Situation(*facts) for pk, *facts in rows}


def callers(queue: Queue) -> list[dict[str, Any]]:
    """Return the callers who wait in the queue, in the order of their arrival."""
    waiting = Connection.objects.filter(state=Connection.State.WAITING, queue=queue).order_by("waiting_since", "id")
    rows: list[Any] = list(waiting.values_list("id", "src", "src_number", "waiting_since", "customer_id"))
    customers = customers_of({number for _, _, number, _, _ in rows})
    found = []
    for pk, src, number, since, customer_id in rows:
        customer = customers.get(number)
        known = customer_id or (customer.id if customer else None)
        label = customer.label if customer and customer.id == known else ""
        found.append({"call_id": pk, "number": src, "since": since, "customer_id": known, "customer_label": label})
    return found
