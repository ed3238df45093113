# ruff: noqa: S608  (SQL is composed of constants)
from django.db import migrations

# Each ledger: its table; the columns of the agent, of its first and of its last instant, which is NULL while it goes
# on; the rows that count; the further columns of which rollups are made (reports.ledgers).
LEDGERS = [
    ("telephony_agentsession", "agent_id", "started_at", "ended_at", "true", ()),
    (
        *("telephony_agentstate", "agent_id", "started_at", "ended_at", "kind IN ('free', 'paused', 'wrap_up')"),
        ("kind", "pause_id"),
    ),
    (
        *("telephony_offer", "agent_id", "offered_at", "ended_at", "outcome <> 'failed'"),
        ("outcome", "answered_at", "transferred_at", "queue_id", "connection_id"),
    ),
    (
        *("telephony_connection", "agent_id", "created_at", "ended_at", "direction = 'OUTBOUND' AND NOT has_talks"),
        ("direction", "has_talks", "answered_at", "queue_id"),
    ),
    ("telephony_talk", "agent_id", "counted_at", "ended_at", "true", ("started_at", "queue_id")),
    ("tickets_chat", "agent_id", "closed_at", "closed_at", "true", ("queue_id",)),
    ("tickets_ticket", "closed_by_id", "closed_at", "closed_at", "true", ("queue_id",)),
    ("tickets_message", "agent_id", "created_at", "created_at", "type = 'REPLY'", ("type", "ticket_id")),
    ("tickets_chatmessage", "agent_id", "created_at", "created_at", "true", ("chat_id",)),
]
_LOG = "INSERT INTO telephony_ledgerchange (agent_id, since, until)"
# Replies count for the queue of their ticket.
_REPLIES = f"""
  IF TG_OP = 'UPDATE' AND OLD.queue_id <> NEW.queue_id THEN
    {_LOG} SELECT agent_id, created_at, created_at FROM tickets_message
    WHERE ticket_id = NEW.id AND type = 'REPLY' AND agent_id IS NOT NULL;
  END IF;"""


def _create(table, agent, since, until, counts, others):
    """Return the statements that make the triggers of a ledger.

    Inserts and updates are logged by row, and only if a row that is over has changed in one of these columns: a row that
    begins costs nothing. Deletions are logged by statement, with one entry for an agent and a day.
    """
    names = list(dict.fromkeys([agent, since, until, *others]))
    old, new = (", ".join(f"{row}.{name}" for name in names) for row in ("OLD", "NEW"))
    log = f"""
    {_LOG} SELECT {agent}, min({since}), max(GREATEST({since}, {until})) FROM {{changed}}
    WHERE {agent} IS NOT NULL AND {until} IS NOT NULL AND {counts} GROUP BY {agent}, date_trunc('day', {since});"""
    log_old, log_new = (log.format(changed=f"(SELECT {row}) changed({', '.join(names)})") for row in (old, new))
    is_ticket = table == "tickets_ticket"
    run = f"EXECUTE FUNCTION reports_log_{table}()"
    is_over = f"OLD.{until} IS NOT NULL OR NEW.{until} IS NOT NULL"
    return [
        f"""
CREATE OR REPLACE FUNCTION reports_log_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN{log.format(changed="changed")}
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.{until} IS NOT NULL THEN{log_old}
  END IF;
  IF NEW.{until} IS NOT NULL THEN{log_new}
  END IF;{_REPLIES if is_ticket else ""}
  RETURN NULL;
END $$""",
        f"""
CREATE OR REPLACE TRIGGER reports_log_insert AFTER INSERT ON {table} FOR EACH ROW
WHEN (NEW.{agent} IS NOT NULL AND NEW.{until} IS NOT NULL) {run}""",
        f"CREATE OR REPLACE TRIGGER reports_log_delete AFTER DELETE ON {table} REFERENCING OLD TABLE AS changed {run}",
        f"""
CREATE OR REPLACE TRIGGER reports_log_update AFTER UPDATE ON {table} FOR EACH ROW WHEN (
  ({old}) IS DISTINCT FROM ({new}) AND ({is_over}{" OR OLD.queue_id <> NEW.queue_id" if is_ticket else ""})
) {run}""",
    ]


class Migration(migrations.Migration):
    # A call that is going on would wait for the triggers of all ledgers.
    atomic = False
    dependencies = [
        ("reports", "0014_histories_of_schedules_stay"),
        ("telephony", "0027_recordings_by_day"),
        ("tickets", "0029_lists_by_day"),
    ]

    operations = [
        migrations.RunSQL(_create(*ledger), f"DROP FUNCTION reports_log_{ledger[0]}() CASCADE") for ledger in LEDGERS
    ]
