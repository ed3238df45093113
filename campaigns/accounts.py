"""The accounts of records and of the dialler's calls (callcentre/core/accounts.py)."""

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
files_account("files of imports", "Each import whose file is kept has it.", RecordImport.objects.all, "file")
