"""What people and programs do by verbs leaves an entry in the audit log, or the reason why none is needed is here."""

import ast
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings
from django.utils import translation

from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.audit import AUDITED, AuditEntry
from callcentre.lists.actions import cancel_action
from callcentre.lists.models import ListAction
from callcentre.models import User
from campaigns.verbs.dialling import switch_dialling
from campaigns.verbs.records import remove_record
from knowledgebase.models import SearchMiss
from knowledgebase.verbs.articles import delete_article
from reports.verbs.exports import resend_mail
from telephony.models import Pause
from telephony.verbs import presence, recordings, transcriptions
from tests.backoffice import superuser
from tests.callcentre.factories import DeletionFactory
from tests.campaigns.factories import RecordFactory
from tests.conftest import ACTOR
from tests.knowledgebase.factories import ArticleFactory, CatalogFactory
from tests.processes import ROOT
from tests.reports.factories import ExportMailFactory
from tests.telephony.factories import AgentFactory, PauseFactory, RecordingFactory, TranscriptionFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
APPS = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
# Verbs that do not use their actor: the audited table that they change, whose trigger knows the sender.
BY_TRIGGER = {
    "campaigns/dialling/drop_messages.py:set_message": "campaigns_campaign",
    "campaigns/verbs/campaigns.py:create_group": "campaigns_campaigngroup",
    "campaigns/verbs/campaigns.py:create_campaign": "campaigns_campaign",
    "campaigns/verbs/campaigns.py:clone_campaign": "campaigns_campaign",
    "campaigns/verbs/campaigns.py:edit_campaign": "campaigns_campaign",
    "campaigns/verbs/campaigns.py:add_agents": "campaigns_campaign_agents",
    "campaigns/verbs/campaigns.py:remove_agents": "campaigns_campaign_agents",
    "campaigns/verbs/campaigns.py:remove_campaign": "campaigns_campaign",
    "campaigns/verbs/do_not_call.py:add_entries": "campaigns_donotcall",
    "campaigns/verbs/do_not_call.py:remove_entry": "campaigns_donotcall",
    "knowledgebase/verbs/articles.py:edit_catalog": "knowledgebase_catalog",
    "telephony/verbs/agents.py:edit_agent": "telephony_agent",
    "tickets/verbs/chats.py:start_chat": "tickets_chat",
    "tickets/verbs/chats.py:assign_chat": "tickets_chat",
    "tickets/verbs/chats.py:close_chat": "tickets_chat",
    "tickets/verbs/custom_fields.py:edit_custom_field": "tickets_customfield",
    "tickets/verbs/customers.py:create_company": "tickets_company",
}
WITHOUT_ENTRY = {
    "campaigns/dialling/previews.py:accept": "the offer has the agent, and the call is a row",
    "campaigns/dialling/previews.py:skip": "the offer has the agent and the reason",
    "campaigns/verbs/imports.py:describe_import": "the import names the person who queues it",
    "telephony/verbs/connections.py:call": "the call is a row",
    "telephony/verbs/presence.py:extend_wrap_up": "only the agent does it, at the desk, and the state is marked",
    "tickets/verbs/chats.py:write_in_chat": "the message has the agent",
}


def _verbs_without_use_of_actor() -> Iterator[str]:
    for path in sorted(path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and "actor" in {
                each.arg for each in (*node.args.args, *node.args.kwonlyargs)
            }:
                used = {each.id for part in node.body for each in ast.walk(part) if isinstance(each, ast.Name)}
                if "actor" not in used:
                    yield f"{path.relative_to(ROOT)}:{node.name}"


@pytest.mark.slow("reads the whole code")
def test_each_verb_uses_its_actor_or_changes_a_table_with_a_trigger():
    assert set(_verbs_without_use_of_actor()) == BY_TRIGGER.keys() | WITHOUT_ENTRY.keys()
    assert set(BY_TRIGGER.values()) <= AUDITED.keys()


def actions_by(actor: Actor) -> list[str]:
    entries = AuditEntry.objects.filter(actor_kind=actor.kind, actor_id=actor.id, actor_name=actor.name)
    return list(entries.order_by("id").values_list("action", flat=True))


def _change_presence(agent: Any, actor: Actor, lunch: Pause) -> None:
    presence.log_in(agent, actor)
    presence.log_in(agent, actor)  # changes nothing
    presence.pause(agent, actor, lunch.pk)
    presence.free(agent, actor)
    presence.log_out(agent, actor)
    presence.log_out(agent, actor)


def test_presence_that_another_person_changes_is_logged_once_each():
    agent = AgentFactory(login="anna")

    _change_presence(agent, ACTOR, PauseFactory(name="Lunch"))

    assert actions_by(ACTOR) == ["log_in_agent", "pause_agent", "free_agent", "log_out_agent"]
    paused = AuditEntry.objects.get(action="pause_agent")
    assert (paused.model, paused.object_id, paused.object_name) == (
        "telephony.agent",
        str(agent.pk),
        "anna (Anna Nowak)",
    )
    assert paused.changes == {"pause": [None, "Lunch"]}


def test_presence_that_agents_or_the_service_change_is_not_logged():
    user = User.objects.create_user("anna")
    agent, lunch = AgentFactory(user=user), PauseFactory()

    for actor in (agent.actor, user.actor, SYSTEM):
        _change_presence(agent, actor, lunch)

    assert not AuditEntry.objects.filter(action__endswith="_agent").exists()


def _dismiss() -> None:
    SearchMiss.objects.record(CatalogFactory().pk, "kowalska")
    miss = SearchMiss.objects.get()
    superuser().act("/admin/knowledgebase/searchmiss/", "dismiss", miss, apply="1")


def _transcribe_again() -> None:
    recording = RecordingFactory(ready=True)
    transcription = TranscriptionFactory(finished=True, connection=recording.connection)
    with override_settings(TRANSCRIPTION_URL="https://model.example"):
        assert transcriptions.request_again(transcription, ACTOR)


@pytest.mark.parametrize(
    ("action", "do"),
    [
        ("transcribe_again", _transcribe_again),
        ("fetch_again", lambda: recordings.fetch_again(RecordingFactory(state="failed"), ACTOR)),
        ("ask_deletion_again", lambda: DeletionFactory(state="failed", next_attempt_at=None).ask_again(ACTOR)),
        ("resend_report", lambda: resend_mail(ExportMailFactory(state="failed"), ACTOR)),
        ("cancel_action", lambda: cancel_action(ListAction.objects.create(list_title="Agents"), ACTOR)),
        ("delete", lambda: remove_record(RecordFactory(), ACTOR)),
        ("delete", lambda: delete_article(ArticleFactory(), ACTOR)),
        ("dismiss_searches", _dismiss),
    ],
)
def test_what_a_person_asks_for_is_logged(action, do):
    do()

    entry = AuditEntry.objects.get(action=action)
    assert entry.actor_kind in (ACTOR.kind, "user")
    assert "kowalska" not in f"{entry.object_name}{entry.changes}"


def test_stop_of_all_dialling_says_what_and_why(admin_client):
    switch_dialling(ACTOR, is_running=False, reason="fire alarm")

    page = admin_client.get("/admin/callcentre/auditlog/").content.decode()

    assert "Campaign None" not in page
    assert [word in page for word in ("All dialling", "stopped", "running: no", "reason: fire alarm")] == [True] * 4
    with translation.override("pl"):
        page = admin_client.get("/admin/callcentre/auditlog/", headers={"accept-language": "pl"}).content.decode()
    assert ("All dialling" in page, "fire alarm" in page) == (False, True)


def test_reading_a_transcription_is_logged_once_an_hour_by_page_and_by_api(admin_client, api):
    call = TranscriptionFactory(finished=True).connection
    for _turn in range(2):
        admin_client.get(f"/admin/telephony/connection/{call.pk}/change/")
        admin_client.get(f"/admin/telephony/transcription/{call.pk}/change/")
        api.get(f"/api/connections/{call.uid}/transcription")

    entries = AuditEntry.objects.filter(action="read_transcription").order_by("id")

    assert [(entry.actor_kind, entry.object_id) for entry in entries] == [
        ("user", str(call.pk)),
        ("api_user", str(call.pk)),
    ]


def test_reading_a_summary_of_a_call_without_words_is_logged_and_an_unfinished_one_not(admin_client, api):
    summary, empty = TranscriptionFactory(finished=True, parts=[]).connection, TranscriptionFactory().connection
    for call in (summary, empty):
        admin_client.get(f"/admin/telephony/connection/{call.pk}/change/")
        for extra in ("", "?includeSummary=true"):
            api.get(f"/api/connections/{call.uid}/transcription{extra}")

    read = AuditEntry.objects.filter(action="read_transcription").order_by("id")
    assert list(read.values_list("actor_kind", "object_id")) == [
        (kind, str(summary.pk)) for kind in ("user", "api_user")
    ]
