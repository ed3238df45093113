"""The checks after the work, and after each fault: nothing accepted is lost, and the accounts are right."""

import json
import subprocess
import sys
import time
from typing import Any

from benchmarks.endurance import FAULTS
from benchmarks.harness import ROOT
from benchmarks.load.machine import Machine
from benchmarks.load.work import Ledger

# A mail in the mailbox is fetched within this time.
MAIL_SECONDS = 15.0
_L = "(SELECT id FROM campaigns_campaign WHERE code = 'L0000')"
# Kind of what was accepted -> the marks of what is there.
_THERE = {
    "records": f"SELECT number FROM campaigns_record WHERE campaign_id = {_L}",
    "customers": "SELECT identifier FROM tickets_customer WHERE identifier LIKE 'load-%'",
    "tickets": "SELECT id::text FROM tickets_ticket",
    "replies": "SELECT substring(body FROM 'reply-(\\d+)') FROM tickets_message WHERE type = 'REPLY'",
    "comments": "SELECT substring(comment FROM 'comment-(\\d+)') FROM tickets_message WHERE type = 'COMMENT'",
    "mails": "SELECT header_id FROM tickets_receivedmail WHERE outcome <> 'received'",
}
# Each must find nothing.
_WITHOUT = {
    "records without their event": f"""
SELECT r.number FROM campaigns_record r WHERE r.campaign_id = {_L} AND NOT EXISTS (
  SELECT FROM webhooks_event e WHERE e.action = 'OUTBOUND_RECORD_CREATED' AND e.subject = 'record:' || r.id)
""",
    "tickets without their event": """
SELECT t.id::text FROM tickets_ticket t WHERE NOT EXISTS (
  SELECT FROM webhooks_event e WHERE e.action = 'TICKET_CREATED' AND e.subject = 'ticket:' || t.id)
""",
}
_SUCCEEDED = """
SELECT e.event_id::text FROM webhooks_delivery d JOIN webhooks_event e ON e.id = d.event_id
WHERE d.webhook_id = (SELECT min(id) FROM webhooks_webhook) AND d.state = 'succeeded'
"""
_SENT = "SELECT count(*) FROM tickets_dispatch WHERE state = 'sent'"
# Of the accounts of the endurance trial those that hold beside other calls and edits, at any time or at rest.
_DIALLING = (
    "calls of one record that overlap",
    "records with more attempts than their rule allows",
)
_AT_REST = (
    "records that are left in progress, or held",
    "attempts without an end, or without a settlement",
    "attempts that do not have one leg to their number",
)


def _column(connection: Any, statement: str) -> set[str]:
    return {row[0] for row in connection.execute(statement).fetchall()}


def lost(machine: Machine, ledger: Ledger, *, is_over: bool = False) -> dict[str, list[str]]:
    """Return what was accepted and is not there, by kind; `is_over`: the work has ended, and nothing may be open."""
    accepted = {kind: set(marks) for kind, marks in ledger.accepted.items()}
    if not is_over:
        latest = time.monotonic() - MAIL_SECONDS
        accepted["mails"] = {mark for mark, at in list(ledger.accepted["mails"].items()) if at < latest}
    with machine.running.connect() as connection:
        found = {kind: sorted(accepted.get(kind, set()) - _column(connection, there)) for kind, there in _THERE.items()}
        found |= {what: sorted(_column(connection, statement)) for what, statement in _WITHOUT.items()}
        succeeded, (sent,) = _column(connection, _SUCCEEDED), connection.execute(_SENT).fetchone() or (0,)
        outside = json.loads(machine.outside.say(None))
        found["events that the good receiver should have"] = sorted(succeeded - set(outside["events"]))
        if sent > len(outside["sent"]):
            found["mails that were not sent"] = [str(sent - len(outside["sent"]))]
        for what in (*_DIALLING, *(_AT_REST if is_over else ())):
            (count,) = connection.execute(FAULTS[what]).fetchone() or (0,)
            found[what] = [str(count)] if count else []
    return {what: marks for what, marks in found.items() if marks}


def verify(machine: Machine) -> list[str]:
    """Return the accounts that are wrong, with their first lines."""
    command = [sys.executable, "manage.py", "verify", "--json"]
    environment = machine.running.environment | {"DATABASE_URL": machine.running.database_url}
    done = subprocess.run(command, env=environment, cwd=ROOT, check=False, capture_output=True, text=True)
    if not done.stdout:
        return [done.stderr.strip().rpartition("\n")[2]]
    accounts = [json.loads(line) for line in done.stdout.splitlines()]
    return [f"{each['account']}: {each['wrong']}, {'; '.join(each['rows'][:3])}" for each in accounts if each["wrong"]]
