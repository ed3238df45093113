"""The people, campaigns, queues and webhooks of the trial."""

import json
import time
from typing import Any

from benchmarks.endurance import CAMPAIGN, MEMBERS, RECORDS, RULES
from benchmarks.harness import manage
from benchmarks.load.machine import Machine

# Agents of the two campaigns, who have desks; others who call, and who serve a queue.
AGENTS, CALLERS, SERVERS, SUPERVISORS = 50, 10, 10, 20
CAMPAIGNS = {"E0000": "predictive", "E0001": "progressive"}
# With the length of a call the time between two calls of one agent: a minute.
WRAP_UP_SECONDS = 50
RECORDS_OF_AGENT = 400
HOTLINE = "225550100"
GOOD = ["TICKET_CREATED", "TICKET_AGENT_RESPONDED", "OUTBOUND_RECORD_CREATED", "OUTBOUND_RECORD_STATUS_CHANGED"]

_DIGITS = "'00', '00', '00', '01', '01', '01', '01', '03', '03', '04'"
_STATUSES = "'201', '201', '201', '486', '486', '486', '486', '603', '603', '404'"

_AGENTS = """
INSERT INTO telephony_agent (login, name, surname, email, is_active, number, outbound_mode, has_line, updated_at)
SELECT CASE WHEN n < %(agents)s THEN 'bench' ELSE 'other' END || n, 'Bench', n::text, '', true, (200 + n)::text,
  n < %(agents)s, n < %(agents)s AND n %% 2 = 0, now()
FROM generate_series(0, %(all)s - 1) AS n
"""
# The other code: desks and supervisors get sessions, as a log-in by password takes a core for a quarter of a second.
_PEOPLE = """
import json
from django.test import Client
from callcentre.models import User
from telephony.models import Agent, Queue, QueueMember
from tickets.models import TicketQueue
def cookie(user):
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value
desks = []
for number in range({desks}):
    user = User.objects.create(username=f"desk{{number}}", is_staff=True)
    Agent.objects.filter(login=f"bench{{number}}").update(user=user)
    desks.append(cookie(user))
seen = [User.objects.create(username=f"boss{{n}}", is_staff=True, is_superuser=True) for n in range({supervisors})]
queue = Queue.objects.create(name="Hotline", number="{hotline}")
for agent in Agent.objects.filter(login__in={servers}):
    QueueMember.objects.create(queue=queue, agent=agent)
TicketQueue.objects.create(name="Help", address="help@us.example", imap_host="127.0.0.1", imap_port={imap},
    imap_uses_tls=False, imap_allows_plain=True, imap_user="us", imap_password="secret", sender_limit=None)
print(json.dumps({{"desks": desks, "supervisors": [cookie(user) for user in seen]}}))
"""


def dial(machine: Machine, *, is_on: bool) -> None:
    with machine.running.connect() as connection:
        statement = "UPDATE campaigns_campaign SET is_dialling = %s WHERE code = ANY(%s)"
        connection.execute(statement, [is_on, list(CAMPAIGNS)])


def prepare(
    machine: Machine,
    agents: int = AGENTS,
    supervisors: int = SUPERVISORS,
    wrap_up: int = WRAP_UP_SECONDS,
    spread: float = 0,
) -> Any:
    """Make the world, let the campaigns dial, and log the agents in within `spread` seconds.

    Return the cookies of sessions: {"desks": […], "supervisors": […]}.
    """
    running = machine.running
    client = running.client()
    for code, dialer in CAMPAIGNS.items():
        body = {"id": code, "name": f"Load, {dialer}", "dialer": dialer, "crm": False}
        client.send("POST", "/api/outbounds", body, expect=201)
    others = [f"other{agents + number}" for number in range(CALLERS + SERVERS)]
    with running.connect() as connection:
        connection.execute(_AGENTS, {"agents": agents, "all": agents + CALLERS + SERVERS})
        connection.execute(CAMPAIGN, [wrap_up, list(CAMPAIGNS)])
        connection.execute(MEMBERS)
        connection.execute(RULES)
        # The stand-in for Asterisk reads three digits: SIP statuses, or a person who answers.
        records = RECORDS if "switch" not in machine.commands else RECORDS.replace(_DIGITS, _STATUSES)
        connection.execute(records, {"records": agents * RECORDS_OF_AGENT})
        connection.execute("VACUUM ANALYZE campaigns_record")
    client.send(
        "POST", "/api/outbounds", {"id": "L0000", "name": "Records", "dialer": "preview", "crm": False}, expect=201
    )
    code = _PEOPLE.format(
        desks=agents, supervisors=supervisors, hotline=HOTLINE, imap=machine.ports["imap"], servers=others[CALLERS:]
    )
    cookies = json.loads(manage(running.environment, "shell", "--verbosity=0", "-c", code).splitlines()[-1])
    dial(machine, is_on=True)
    for number, login in enumerate(others + [f"bench{number}" for number in range(agents)]):
        client.send("POST", f"/api/agents/{login}/login", expect=204)
        time.sleep(spread / agents if number >= len(others) else 0)
    for receiver, actions in (("good", GOOD), ("slow", GOOD[:1]), ("dead", GOOD[:1])):
        url = f"http://127.0.0.1:{machine.ports[receiver]}/"
        client.send("POST", "/api/webhooks", {"actions": actions, "subscription_url": url}, expect=201)
    return cookies
