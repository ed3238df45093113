"""The choice and reservation of 100 of a million records in ten campaigns, with hours, retries and a do-not-call list.

python -m benchmarks.choice [RECORDS]

The bound is the plain `UPDATE … FROM (SELECT … LIMIT 100 FOR UPDATE SKIP LOCKED)` over the same index. Ours reads the
hours, finds the zones and countries of the campaign, and reserves; the same process and connection run both in turns.
"""

import os
import statistics
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.harness import Table, service, timed

CAMPAIGNS, WANTED, TURNS = 10, 100, 200
# 12:00 in Warsaw on a working day; in New York it is 6:00, so that American numbers may not be called.
NOON = (datetime.now(tz=UTC) + timedelta(days=1)).replace(hour=11, minute=0, second=0, microsecond=0)

_CAMPAIGNS = """
INSERT INTO campaigns_campaign (code, name, dialer, is_crm, is_active, start_date, "order", parity, caller_id,
  updated_at)
SELECT 'C' || lpad(n::text, 4, '0'), 'Choice', 'progressive', false, true, current_date, 50, 50, '', now()
FROM generate_series(0, %(campaigns)s - 1) AS n
"""
_HOURS = """
INSERT INTO campaigns_campaignhours (campaign_id, weekday, begins_at, ends_at)
SELECT c.id, d, '09:00', '20:00' FROM campaigns_campaign c, generate_series(1, 7) AS d
"""
# 70 % Poland, 20 % New York and Los Angeles, 10 % Spain with two zones. 70 % are to be called, 15 % wait for a retry, a
# third of these is due, 15 % are done. A third has an order.
_RECORDS = """
INSERT INTO campaigns_record (campaign_id, phone_number, number, is_primary, status_id, system_status, identifier,
  last_note, fields, leased_by, next_call_at, "order", zone, calling_code)
SELECT c.id, number, number, true, NULL,
  CASE WHEN share < 70 THEN 'TO_CALL' WHEN share < 85 THEN 'CALL_NO_SOONER_THAN' ELSE 'NO_CALL' END,
  '', '', '{}', '', %(now)s + (share %% 3 - 1) * interval '1 hour',
  CASE WHEN n %% 3 = 0 THEN n %% 100 END,
  (ARRAY['Europe/Warsaw', 'America/New_York', 'America/Los_Angeles', 'Atlantic/Canary Europe/Madrid'])[place],
  (ARRAY['48', '1', '1', '34'])[place]
FROM generate_series(0, %(records)s - 1) AS n
JOIN campaigns_campaign c ON c.code = 'C' || lpad((n %% %(campaigns)s)::text, 4, '0')
CROSS JOIN LATERAL (SELECT abs(hashint4(n)) %% 100 AS share, abs(hashint4(-n)) %% 10 AS tenth) AS shares
CROSS JOIN LATERAL (
  SELECT CASE WHEN tenth < 7 THEN 1 WHEN tenth < 8 THEN 2 WHEN tenth < 9 THEN 3 ELSE 4 END AS place
) AS places
CROSS JOIN LATERAL (
  SELECT (ARRAY['+48', '+1212', '+1213', '+34'])[place] || (500000000 + n)::text AS number
) AS numbers
"""
# One record of a hundred is listed, and a thousand beginnings.
_LIST = """
INSERT INTO campaigns_donotcall (number, phone_number, is_prefix, campaign_id, reason, since)
SELECT '+48' || number, '+48' || number, number < 1000000, NULL, '', now() - interval '1 day'
FROM (
  SELECT CASE WHEN n < 1000 THEN 900000 + n WHEN n %% 100 = 0 THEN 500000000 + n ELSE 700000000 + n END AS number
  FROM generate_series(0, %(entries)s - 1) AS n
) AS numbers
"""
_ATTEMPTS = """
INSERT INTO campaigns_attempt (campaign_id, campaign_code, record_id, phone_number, number, mode, connection_id,
  connection_uid, dialled_at, outcome, zone, rule, figures, before)
SELECT campaign_id, '', id, number, number, 'one_to_one', id, '', %(now)s - interval '2 hours', 'no_answer', zone, '',
  '{}', '{}'
FROM campaigns_record WHERE system_status = 'CALL_NO_SOONER_THAN'
"""
BOUND = """
UPDATE campaigns_record r SET leased_by = 'bound', leased_until = %(until)s
FROM (
  SELECT id FROM campaigns_record WHERE campaign_id = %(campaign)s AND system_status = 'TO_CALL' AND held_until IS NULL
    AND zone = 'Europe/Warsaw' AND calling_code = '48' AND leased_by = ''
  ORDER BY "order", id LIMIT 100 FOR UPDATE SKIP LOCKED
) AS chosen WHERE r.id = chosen.id RETURNING r.id
"""
_FREE = "UPDATE campaigns_record SET leased_by = '', leased_until = NULL WHERE leased_by <> ''"


def measure(records: int) -> None:
    import django  # noqa: PLC0415  (its settings name the stores)

    django.setup()
    from django.db import connection  # noqa: PLC0415

    from campaigns.dialling import choice, hours  # noqa: PLC0415
    from campaigns.models import Campaign  # noqa: PLC0415

    cursor: Any = connection.cursor()
    values = {"campaigns": CAMPAIGNS, "records": records, "entries": records, "now": NOON}
    for statement in (_CAMPAIGNS, _HOURS, _RECORDS, _LIST, _ATTEMPTS):
        cursor.execute(statement, values)
    for name in ("record", "donotcall", "attempt"):
        cursor.execute(f"VACUUM ANALYZE campaigns_{name}")
    campaigns = list(Campaign.objects.order_by("code"))
    rows = f"{records:,} records in {CAMPAIGNS} campaigns, {records:,} do-not-call entries"
    table = Table(f"Choice and reservation of {WANTED}, {rows}")
    table.head()
    times: dict[str, list[float]] = {"bound": [], "reserve": [], "all": []}
    for turn in range(TURNS + 20):
        campaign = campaigns[turn % CAMPAIGNS]
        groups = hours.open_groups(hours.read_hours(campaign), choice.groups_of(campaign.pk), NOON)
        given = {"campaign": campaign.pk, "until": NOON}

        def reserve(campaign: Campaign = campaign, groups: Any = groups) -> None:
            found = choice.reserve(campaign.pk, "ours", WANTED, groups=groups, free_agents=[1, 2], now=NOON)
            assert len(found) == WANTED

        def choose(campaign: Campaign = campaign) -> None:
            groups = hours.open_groups(hours.read_hours(campaign), choice.groups_of(campaign.pk), NOON)
            found = choice.reserve(campaign.pk, "ours", WANTED, groups=groups, free_agents=[1, 2], now=NOON)
            assert len(found) == WANTED

        def bound(given: Any = given) -> None:
            cursor.execute(BOUND, given)
            assert len(cursor.fetchall()) == WANTED

        for name, action in (("bound", bound), ("reserve", reserve), ("all", choose)):
            seconds = timed(action)
            if turn >= 20:
                times[name].append(seconds)
            cursor.execute(_FREE)
    medians = {name: statistics.median(several) for name, several in times.items()}
    table.add("reserve", "one plain UPDATE", medians["bound"], medians["reserve"], 3)
    table.add("hours, zones and reserve", "one plain UPDATE", medians["bound"], medians["all"], 3)
    groups = hours.open_groups(hours.read_hours(campaigns[0]), choice.groups_of(campaigns[0].pk), NOON)
    values = choice.values_of(campaigns[0].pk, "plan", groups=groups, free_agents=[1, 2], now=NOON)
    cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {choice.RESERVE}", {**values, "count": WANTED, "look": WANTED})
    print("\n" + "\n".join(line for (line,) in cursor.fetchall()))


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with service(0) as running:
        os.environ.update(running.environment)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")
        measure(records)


if __name__ == "__main__":
    main()
