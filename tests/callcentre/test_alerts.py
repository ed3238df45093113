"""Alerts: each one is provoked, the document lists them, and rules, document and dashboard name metrics that exist."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
import redis
import yaml
from celery import current_app
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from callcentre.core import free_space
from callcentre.core.actor import SYSTEM
from callcentre.models import Heartbeat
from callcentre.monitoring import health
from campaigns.dialling import dialler
from campaigns.dialling.ownership import Ownership
from campaigns.models import Campaign
from reports import comparison
from telephony import event_dispatcher, keyed_pool
from telephony.leader_election import Leadership
from telephony.tasks import place_call
from tests.callcentre.factories import HeartbeatFactory
from tests.callcentre.test_heartbeats import KINDS
from tests.campaigns.factories import CampaignFactory, DiallingDayFactory, TrunkFailureFactory
from tests.conftest import ApiClient
from tests.reports.factories import RollupFactory
from tests.serving import free_port
from tests.telephony.factories import AgentFactory, ConnectionFactory
from tests.tickets.factories import DispatchFactory, ReceivedMailFactory, TicketQueueFactory
from tests.webhooks.factories import DeliveryFactory, WebhookFactory
from tickets.models import Dispatch, TicketQueue
from webhooks.models import Webhook
from webhooks.verbs.webhooks import disable_webhook

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "deploy" / "prometheus-rules.yaml"
RULES = yaml.safe_load(FILE.read_text())["groups"][0]["rules"]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
# Only a database with a replica has it.
REPLICA_LAG = "callcentre_replica_lag_seconds"
# Only a running process has them.
ABSENT = ("callcentre_listener_silent_seconds", "callcentre_dialler_silent_seconds")
# The counters of other processes, which the same scrape includes.
COUNTERS = (event_dispatcher.handled, dialler.failures, keyed_pool.failed, comparison.repaired)

COUNTER = re.compile(r"_(total|bucket|count|sum){")

# Whether the condition of an alert changes nothing more, makes ages grow by a minute each minute, or makes counters go
# on as they did from the scrape before to the one after it.
STAYS, AGES, GOES_ON = "stays", "ages", "goes on"
BEFORE, DURING = 20, 120  # minutes


def minutes_ago(count: float) -> Any:
    return timezone.now() - timedelta(minutes=count)


def named(text: str) -> set[str]:
    return set(re.findall(r"\bcallcentre_[a-z0-9_]+(?=[\s{}`[)]|$)|\bup(?={)", text, re.MULTILINE))


def scraped(client: Client) -> dict[str, float]:
    """Return series -> value, as Prometheus has them after a scrape."""
    for _ in range(9):
        answer = client.get("/metrics")
        # A busy machine takes longer than the limit of time.
        if b'callcentre_up{store="database"} 0.0' not in answer.content:
            break
    found = {'up{job="callcentre"}': float(answer.status_code == 200)}
    if answer.status_code == 200:
        for family in text_string_to_metric_families(answer.content.decode()):
            for sample in family.samples:
                labels = ",".join(f"{name}={json.dumps(value)}" for name, value in sample.labels.items())
                found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


# Each makes one condition after another real, and yields its alert, how it goes on, and the labels of what it concerns.


def conditions_of_calls() -> Iterator[tuple[Any, ...]]:
    for kind in KINDS:
        HeartbeatFactory(process=kind)
    campaign = CampaignFactory()
    broker = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    broker.delete(*(f"cc:{name}" for name in (*settings.CELERY_TASK_QUEUE_NAMES, "unacked", "unacked_index")))
    with Leadership() as leadership:
        leadership.acquire()
        leadership.report(is_connected=True)
        yield "", STAYS

        leadership.report(is_connected=False)
        yield "SwitchAway", STAYS, {}
        yield "ListenerHangs", AGES, {}
    yield "ListenerDown", STAYS, {}

    Heartbeat.objects.filter(process="mail").update(beat_at=minutes_ago(1))
    yield "ProcessMissing", STAYS, {"process": "mail"}
    ownership = Ownership()
    yield "DiallerHangs", AGES, {}
    ownership.close()
    Campaign.objects.filter(pk=campaign.pk).update(is_dialling=True)
    yield "CampaignsWithoutDialler", STAYS, {}
    TrunkFailureFactory()
    yield "TrunkFails", AGES, {}
    DiallingDayFactory(campaign=campaign, day=timezone.localdate() - timedelta(days=3), live_answers=200, drops=2)
    DiallingDayFactory(campaign=campaign, live_answers=40, drops=4)
    yield "TooManyDrops", STAYS, {"campaign": campaign.code, "span": "day"}
    ConnectionFactory(state="queued", answered_at=None, ended_at=None, disposition="")
    yield "CallsWait", AGES, {}


def conditions_of_work() -> Iterator[tuple[Any, ...]]:
    broker = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    waiting = {"calls": "CallTasksWait", "webhooks": "WebhookTasksWait", "mail": "MailTasksWait"}
    for name, alert in {**waiting, "reports": "OtherTasksWait"}.items():
        current_app.send_task("tests.nothing", args=[1], queue=name)
        yield alert, AGES, {"queue": name}
    broker.hset("cc:unacked", "tag", "{}")
    broker.zadd("cc:unacked_index", {"tag": time.time() - 3700})
    yield "TaskHeld", STAYS, {}
    place_call.apply(args=("no key",))
    yield "TaskFailed", STAYS, {"task": "telephony.place_call", "outcome": "FAILURE"}
    dispatch = DispatchFactory(next_attempt_at=minutes_ago(1))
    yield "DueWorkLate", AGES, {"model": "tickets.Dispatch"}
    Dispatch.objects.filter(pk=dispatch.pk).update(queued_at=minutes_ago(20))
    yield "MessagesLate", STAYS, {"way": "mail"}
    DispatchFactory(failed=True)
    yield "MessageFailed", STAYS, {"way": "mail"}
    DeliveryFactory(next_attempt_at=minutes_ago(1))
    yield "DeliveriesLate", AGES, {}
    DeliveryFactory(failed=True)
    yield "DeliveriesFailed", STAYS, {}
    webhook = WebhookFactory(failing=True)
    yield "WebhookFails", STAYS, {"state": "failing"}
    disable_webhook(webhook, SYSTEM, Webhook.Reason.FAILING)
    yield "WebhookDisabled", STAYS, {"state": "disabled"}
    queue = TicketQueueFactory()
    TicketQueue.objects.filter(pk=queue.pk).update(imap_host="imap.callcentre.example", read_at=minutes_ago(20))
    yield "MailboxUnread", STAYS, {"queue": str(queue.pk)}
    ReceivedMailFactory(quarantined=True)
    yield "MailQuarantined", STAYS, {}
    ReceivedMailFactory()
    yield "MailsUndecided", STAYS, {}
    RollupFactory(
        agent_id=AgentFactory().pk, started_at=minutes_ago(24 * 60).replace(minute=0, second=0, microsecond=0)
    )
    comparison.compare_sample(timezone.now())
    yield "RollupsRepaired", STAYS, {}


def conditions_of_machines(api: ApiClient, patch: pytest.MonkeyPatch) -> Iterator[tuple[Any, ...]]:
    api.raise_request_exception = False
    with patch.context() as broken:
        broken.setattr("campaigns.api.views.create_group", lambda *args, **values: 1 / 0)
        assert api.post("/api/outbound_groups", {"name": "Sales"}).status_code == 500
    yield "RequestsFail", GOES_ON, {}
    with patch.context() as slow:
        slow.setattr("campaigns.api.views.create_group", lambda *args, **values: time.sleep(0.6))
        api.post("/api/outbound_groups", {"name": "Sales"})
    yield "RequestsSlow", GOES_ON, {}
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT 1")
        yield "OldTransaction", AGES, {}
    name = settings.DATABASES["default"]["NAME"]
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT 9')
        yield "ConnectionsScarce", STAYS, {}
        cursor.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT -1')

    for alert, free in (("DiskLow", 500 << 20), ("DiskFull", 200 << 20)):
        patch.setattr(
            os, "statvfs", lambda path, free=free: SimpleNamespace(f_bavail=free, f_frsize=1, f_blocks=9 << 30)
        )
        patch.setattr(free_space, "_reading", free_space._Reading())
        yield alert, STAYS, *({"volume": volume} for volume in free_space.volumes())
    patch.setattr(settings, "CELERY_BROKER_URL", f"redis://127.0.0.1:{free_port()}/0")
    yield "StoreDown", STAYS, {"store": "broker"}
    patch.setattr(settings, "METRICS_ALLOWED_NETWORKS", [])
    yield "WebServerDown", STAYS, {"job": "callcentre"}


def filled(text: str, labels: dict[str, str]) -> str:
    return re.sub(r"{{ \$labels\.(\w+) }}", lambda found: labels[found[1]], text)


def case(rule: dict[str, Any], before: dict[str, float], now: dict[str, float], way: str, *labels: Any) -> Any:
    """Return a test for promtool: no alert for twenty minutes, then this alert for each of these labels."""
    series = []
    for name in sorted(name for name in {**before, **now} if name.partition("{")[0] in named(rule["expr"])):
        old, new = before.get(name), now.get(name)
        if old == new and COUNTER.search(name):
            continue  # other tests of this process have left thousands of them
        growth = {STAYS: 0, AGES: 60 if new else 0, GOES_ON: (new or 0) - (old or 0)}[way]
        values = f"_x{BEFORE} " if old is None else f"{old:.6f}x{BEFORE - 1} "
        values += f"stale _x{DURING}" if new is None else f"{new:.6f}{growth:+.6f}x{DURING}"
        series.append({"series": name, "values": values})
    alerts = [
        {
            "exp_labels": {**each, **rule["labels"]},
            "exp_annotations": {key: filled(text, each) for key, text in rule["annotations"].items()},
        }
        for each in labels
    ]
    length, unit = re.fullmatch(r"(\d+)([smh])", rule.get("for", "0s")).groups()  # type: ignore[union-attr]
    late = BEFORE + int(length) * {"s": 1, "m": 1, "h": 60}[unit] + (22 if way == AGES else 3)
    asked = {"alertname": rule["alert"]}
    tests = [{"eval_time": f"{BEFORE - 1}m", **asked}, {"eval_time": f"{late}m", **asked, "exp_alerts": alerts}]
    return {"name": rule["alert"], "interval": "1m", "input_series": series, "alert_rule_test": tests}


@pytest.mark.trial
@pytest.mark.slow("makes the condition of each alert, with a scrape for each")
@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool (Debian's package prometheus) is not installed")
def test_each_alert_is_raised_by_its_condition_and_not_before(api, client, monkeypatch, tmp_path, own_storage):
    # A busy machine must not hide the figures of the database.
    monkeypatch.setattr(health, "TIMEOUT_SECONDS", 60)
    rules = {rule["alert"]: rule for rule in RULES}
    before: dict[str, float] = {}
    tests = []
    conditions = conditions_of_calls(), conditions_of_work(), conditions_of_machines(api, monkeypatch)
    for alert, way, *labels in chain(*conditions):
        now = scraped(client)
        if alert:
            tests.append(case(rules.pop(alert), before, now, way, *labels))
        before = now
    behind = {f"{REPLICA_LAG}{{}}": 45.0}
    tests.append(case(rules.pop("ReplicaLate"), {}, behind, STAYS, {}))
    assert not rules

    file = tmp_path / "tests.yaml"
    # Its durations are seconds, minutes or hours; a JSON document is YAML.
    file.write_text(json.dumps({"rule_files": [str(FILE)], "evaluation_interval": "1m", "tests": tests}))
    said = subprocess.run(["promtool", "test", "rules", file], check=False, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.slow("reads all metrics of the process")
def test_the_rules_the_document_and_the_dashboard_name_metrics_that_exist(client):
    described = set(re.findall(r"# HELP (\w+)", client.get("/metrics").content.decode())) | {"up", REPLICA_LAG, *ABSENT}
    dashboard = (ROOT / "deploy" / "grafana-dashboard.json").read_text()
    alerts = " ".join(rule["expr"] for rule in RULES)

    document = OPERATIONS.partition("## Metrics")[2].partition("## Log-ins")[0]
    for text in (dashboard, alerts, document):
        asked = {re.sub(r"(?<!callcentre_calls)_(bucket|count|sum)$", "", name) for name in named(text)}
        assert asked <= described


def test_the_document_has_the_table_of_the_rules():
    rows = ["| alert | when | for | means | do |", "|---|---|---|---|---|"]
    for rule in RULES:
        remedy, _, section = rule["annotations"]["remedy"].rpartition(" ")
        page, _, anchor = section.removeprefix("docs/").partition("#")
        titles = re.findall(r"^#+ (.*)", (ROOT / "docs" / page).read_text(), re.MULTILINE)
        (title,) = (title for title in titles if re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") == anchor)
        link = f"[{title}]({page.removeprefix('operations.md')}#{anchor})"
        when = " ".join(rule["expr"].split()).replace("|", "\\|")
        summary = re.sub(r"{{ \$labels\.(\w+) }}", r"*\1*", rule["annotations"]["summary"])
        name = rule["alert"] + (" !" if rule["labels"]["severity"] == "critical" else "")
        rows.append(f"| {name} | `{when}` | {rule.get('for', '')} | {summary} | {remedy} {link} |")

    table = "\n".join(rows)
    assert table in OPERATIONS, f"docs/operations.md needs this table:\n{table}"
