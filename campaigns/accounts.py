"""The accounts of records and of the dialler's calls (callcentre/core/accounts.py)."""

from django.conf import settings

from callcentre.core.accounts import account, files_account
from campaigns.models import RecordImport

account(
    "records in calls",
    "A record that a call holds has a call whose result is open.",
    """SELECT 'record ' || r.id || ' is held by ' || r.leased_by FROM campaigns_record r
    WHERE r.leased_by <> '' AND r.leased_until IS NULL AND NOT EXISTS (
      SELECT FROM campaigns_attempt a WHERE a.record_id = r.id AND a.settled_at IS NULL)""",
)
account(
    "results",
    "The result of a call is written when the wrap-up is over, and a call that has ended is no open attempt.",
    """SELECT 'attempt ' || a.id || ' of record ' || a.record_id FROM campaigns_attempt a
    WHERE a.settled_at IS NULL AND a.settle_at < now() - interval '10 minutes'
    UNION ALL SELECT 'attempt ' || a.id || ' of record ' || a.record_id || ' is open' FROM campaigns_attempt a
    LEFT JOIN telephony_connection c ON c.id = a.connection_id
    WHERE a.ended_at IS NULL AND a.dialled_at < now() - interval '1 minute'
      AND (c.id IS NULL OR c.ended_at < now() - interval '1 minute')""",
)
account(
    "numbers called twice",
    "Within 30 days no record was called while a call to it went on.",
    """SELECT 'record ' || record_id || ': attempt ' || id FROM (
      SELECT id, record_id, dialled_at,
        max(COALESCE(ended_at, 'infinity')) OVER (
          PARTITION BY record_id ORDER BY dialled_at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
      FROM campaigns_attempt WHERE dialled_at > now() - interval '30 days'
    ) called WHERE dialled_at < until""",
)
account(
    "counts of the days",
    "Of the last week the calls and answers of a day are those of its attempts, once these are settled.",
    """SELECT 'campaign ' || campaign_id || ', ' || day || ': kept ' || kept || ', counted ' || counted FROM (
      SELECT d.campaign_id, d.day, (d.attempts, d.live_answers)::text AS kept, (
        SELECT (count(*) FILTER (WHERE outcome <> 'not_dialled'),
          count(*) FILTER (WHERE outcome IN ('answered', 'dropped')))::text
        FROM campaigns_attempt a WHERE a.campaign_id = d.campaign_id
          AND a.dialled_at >= d.day::timestamp AT TIME ZONE %(zone)s
          AND a.dialled_at < (d.day + 1)::timestamp AT TIME ZONE %(zone)s
        HAVING count(*) = count(settled_at)) AS counted
      FROM campaigns_diallingday d JOIN campaigns_campaign c ON c.id = d.campaign_id
      CROSS JOIN CAST(now() AT TIME ZONE %(zone)s AS date) AS today
      WHERE d.day < today AND d.day >= today - %(days)s::int AND (c.end_date IS NULL OR c.end_date >= today)
    ) days WHERE kept <> counted""",
    zone=settings.TIME_ZONE,
    # Retention takes older attempts, and those of campaigns that are over.
    days=min(7, settings.ATTEMPT_RETENTION.days - 1),
)
files_account("files of imports", "Each import whose file is kept has it.", RecordImport.objects.all, "file")
