"""Millions of calls of the last two years, written by COPY for load tests."""

import random
from bisect import bisect
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from itertools import accumulate, islice

from django.db import connection, transaction
from django.utils import timezone

from telephony.models import Agent, Queue, QueueMember

# The share of each hour of a day, from 7 to 20.
HOURS = [2, 6, 10, 11, 11, 9, 8, 9, 10, 9, 7, 5, 3]
FIRST_HOUR = 7
AGENTS, QUEUES = 40, 4
# Of a hundred outbound calls: result, cause (Q.850), number of calls.
OUTBOUND = [("ANSWERED", 16, 62), ("NO ANSWER", 19, 22), ("BUSY", 17, 9), ("FAILED", 1, 4), ("FAILED", 38, 3)]
ANSWERED_INBOUND = 0.84
DAYS = 730
_CONNECTION = (
    "id, direction, state, src, dst, src_number, dst_number, queue_id, agent_id, caller_id, created_at, waiting_since,"
    " answered_at, ended_at, disposition, cause, hung_up_by, ring_seconds, wait_seconds, is_on_hold, join_count,"
    " request_id"
)
# Each inbound call rang an agent before it was answered or abandoned.
_OFFERS = """
INSERT INTO telephony_offer (connection_id, queue_id, agent_id, offered_at, answered_at, ended_at, outcome)
SELECT id, queue_id, COALESCE(agent_id, (%(agents)s::bigint[])[1 + id %% %(count)s]),
  COALESCE(answered_at, ended_at) - make_interval(secs => least(wait_seconds, 2 + id %% 14)), answered_at, ended_at,
  CASE WHEN answered_at IS NULL THEN 'abandoned' ELSE 'answered' END
FROM telephony_connection WHERE id >= %(first_id)s AND direction = 'INBOUND'
"""
BLOCK = 5000


def generate(count: int) -> None:
    """Insert connections of the last two years, and an offer for each inbound one."""
    agents, queues = _agents(), _queues()
    with transaction.atomic(), connection.cursor() as cursor:
        # Ids in the order of time, as of real calls. The lock reserves them.
        cursor.execute("LOCK TABLE telephony_connection IN SHARE ROW EXCLUSIVE MODE")
        sequence = "pg_get_serial_sequence('telephony_connection', 'id')"
        cursor.execute(f"SELECT setval({sequence}, nextval({sequence}) + %s) - %s", [count, count])
        first_id: int = cursor.fetchone()[0]
        with cursor.copy(f"COPY telephony_connection ({_CONNECTION}) FROM STDIN") as copy:
            for block in _blocks(_lines(count, first_id, agents, queues)):
                copy.write(block)
        agent_ids = [pk for pk, _ in agents]
        cursor.execute(_OFFERS, {"agents": agent_ids, "count": len(agents), "first_id": first_id})
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE telephony_connection")
        cursor.execute("ANALYZE telephony_offer")


def _blocks(lines: Iterator[str]) -> Iterator[str]:
    while block := "".join(islice(lines, BLOCK)):
        yield block


def _agents() -> list[tuple[int, str]]:
    """Return the agents with phones. If they are too few, add those of a call centre first."""
    known = Agent.objects.exclude(number="").order_by("id")
    if len(found := list(known.values_list("pk", "number"))) < AGENTS:
        Agent.objects.bulk_create(
            [
                Agent(login=f"load{n:03}", name="Load", surname=f"Test {n}", number=f"load{n:03}")
                for n in range(1, AGENTS + 1)
            ],
            ignore_conflicts=True,
        )
        found = list(known.values_list("pk", "number"))
    return found


def _queues() -> list[tuple[int, str]]:
    queues = [
        Queue.objects.get_or_create(name=f"Load test {n}", defaults={"number": f"+48225559{n:03}"})[0]
        for n in range(1, QUEUES + 1)
    ]
    agents = Agent.objects.filter(login__startswith="load").values_list("pk", flat=True)
    members = [QueueMember(queue=queue, agent_id=pk) for queue in queues for pk in agents]
    QueueMember.objects.bulk_create(members, ignore_conflicts=True)
    return [(queue.pk, queue.number) for queue in queues]


def _instants(count: int) -> Iterator[datetime]:
    """Return the starts of the calls in order, in whole seconds, more at noon than in the evening."""
    chance = random.Random("instants")  # noqa: S311  (a load test, no secret)
    steps = list(accumulate(HOURS))
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    for back in range(DAYS, 0, -1):
        day = (midnight - timedelta(days=back)).date()
        of_day = count * (DAYS - back + 1) // DAYS - count * (DAYS - back) // DAYS
        begin = timezone.make_aware(datetime.combine(day, time(FIRST_HOUR))).astimezone(UTC)
        for n in range(of_day):
            share = (n + chance.random()) / of_day * steps[-1]
            hour = bisect(steps, share)
            before = steps[hour - 1] if hour else 0
            yield begin + timedelta(seconds=int(3600 * (hour + (share - before) / HOURS[hour])))


def _lines(count: int, first_id: int, agents: list[tuple[int, str]], queues: list[tuple[int, str]]) -> Iterator[str]:
    chance = random.Random("calls")  # noqa: S311
    weights = list(accumulate(share for _, _, share in OUTBOUND))
    for pk, start in enumerate(_instants(count), start=first_id):
        agent_id, phone = agents[int(chance.random() ** 1.3 * len(agents))]
        number = f"+4850{int(chance.random() ** 1.5 * 8_000_000):07}"
        rang, talk = (
            timedelta(seconds=int(chance.uniform(2, 25))),
            timedelta(seconds=int(chance.expovariate(1 / 150)) + 3),
        )
        end_by = "agent" if chance.random() < 0.45 else "customer"
        if chance.random() < 0.5:
            disposition, cause, _ = OUTBOUND[bisect(weights, chance.random() * 99.9)]
            answered = start + rang if disposition == "ANSWERED" else None
            end = answered + talk if answered else start + rang
            queue_id, source, destination, wait, waiting = None, phone, number, 0, None
        else:
            queue_id, destination = queues[int(chance.random() * len(queues))]
            source, waiting, wait = number, start, int(chance.expovariate(1 / 40)) + rang.seconds
            answered = start + timedelta(seconds=wait) if chance.random() < ANSWERED_INBOUND else None
            end = answered + talk if answered else start + timedelta(seconds=wait)
            disposition, cause = ("ANSWERED" if answered else "NO ANSWER"), 16
        yield _line(
            *(pk, "OUTBOUND" if queue_id is None else "INBOUND", "ended", source, destination, source, destination),
            *(queue_id, agent_id if answered or queue_id is None else None, "", start, waiting, answered, end),
            *(
                disposition,
                cause,
                end_by,
                rang.seconds if queue_id is None else 0,
                wait,
                "f",
                int(answered is not None),
            ),
            "",
        )


def _line(*values: object) -> str:
    """Return a row in the text format of COPY. No value has a character that needs an escape."""
    return "\t".join("\\N" if value is None else str(value) for value in values) + "\n"
