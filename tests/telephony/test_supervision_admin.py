"""The pages of supervisors: listening to a call, ending it, forcing states with a reason, messages to agents."""

from typing import Any

import pytest
from django.urls import reverse

from callcentre.core.audit import AuditEntry
from callcentre.models import User
from telephony.models import Agent, AgentMessage, AgentSession, AgentState, CallCommand, Connection, Supervision
from telephony.verbs import presence
from tests.backoffice import BackOffice, messages_of, staff, superuser
from tests.conftest import ACTOR
from tests.telephony.factories import (
    AgentFactory,
    AgentMessageFactory,
    BrowserPhoneFactory,
    ConnectionFactory,
    PauseFactory,
    QueueFactory,
    SupervisionFactory,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("plain_static")]


def page_of(call: Connection, page: str = "monitor") -> str:
    return reverse(f"admin:telephony_connection_{page}", args=[call.pk])


@pytest.fixture
def call(switch):
    found: Connection = ConnectionFactory(talking=True, agent=AgentFactory(login="anna"))
    return found


def supervisor(**values: Any) -> tuple[BackOffice, Agent]:
    client = superuser()
    return client, AgentFactory(login="boss", user=User.objects.latest("pk"), **values)


def asked() -> list[tuple[str, Any]]:
    return list(CallCommand.objects.values_list("kind", "arguments"))


def test_a_supervisor_listens_and_changes_the_mode_on_the_page(call):
    client, boss = supervisor(number="109")
    for wanted in ("listen", "whisper"):
        client.post(page_of(call), {"do": wanted})
        SupervisionFactory(connection=call, agent=boss, mode=wanted) if wanted == "listen" else None
    page = client.page(page_of(call))
    for wanted in ("take_over", "leave", "sing"):
        client.post(page_of(call), {"do": wanted})

    mine = {"agent_id": boss.pk}
    assert asked() == [
        ("monitor", {**mine, "mode": "listen"}),
        ("monitor", {**mine, "mode": "whisper"}),
        ("take_over", mine),
    ]
    assert 'value="take_over"' in page


def test_a_user_without_an_agent_or_a_phone_gets_a_sentence(call):
    client = superuser()
    without_agent = client.page(page_of(call))
    client.post(page_of(call), {"do": "listen"})
    supervisor_client, _boss = supervisor()

    assert "no agent has your user" in without_agent
    assert "Your agent has no phone." in supervisor_client.page(page_of(call))
    assert asked() == []


def test_a_phone_that_is_not_connected_is_refused_in_words(call):
    client, boss = supervisor(number="109", uses_browser_phone=True)
    BrowserPhoneFactory(agent=boss)

    response = client.post(page_of(call), {"do": "listen"}, follow=True)

    assert messages_of(response) == ["Open the window of your phone first, and wait until it is connected."]


def test_the_overview_leads_to_the_page_with_the_right_only(call):
    assert call.agent
    presence.ring(call.agent, call, call.created_at)
    presence.talk(call.agent, call, call.created_at)
    rights = ("view_agent", "view_connection")

    assert page_of(call) not in staff(*rights).page(reverse("overview"))
    assert page_of(call) in staff(*rights, "monitor_connection").page(reverse("overview"))


def test_a_call_is_ended_with_a_reason(call):
    superuser().submit(page_of(call, "end_call"), reason="Threats")

    assert asked() == [("hang_up", {"reason": "Threats"})]
    assert "Threats" in superuser().page(reverse("admin:telephony_connection_change", args=[call.pk]))


def test_the_page_of_a_call_says_who_listened_and_how(call):
    Connection.objects.filter(pk=call.pk).update(is_supervised=True)
    modes = [["listen", "2026-11-28T08:30:00+00:00"], ["whisper", "2026-11-28T08:31:05+00:00"]]
    SupervisionFactory(connection=call, agent__login="boss", modes=modes)

    page = superuser().page(reverse("admin:telephony_connection_change", args=[call.pk]))

    assert "boss" in page
    assert "08:30:00 listens, " in page.replace("09:30:00", "08:30:00")


def test_each_forced_state_has_its_reason_in_the_ledger_and_the_audit_log(switch):
    agent, pause, client = AgentFactory(login="anna"), PauseFactory(), superuser()
    presence.log_in(agent, ACTOR)
    for page, values in (("pause", {"pause": pause.pk}), ("free", {}), ("log_out", {})):
        address = reverse(f"admin:telephony_agent_{page}", args=[agent.pk])
        client.submit(address, reason=f"To {page}", **values)

    states = AgentState.objects.exclude(reason="").order_by("id").values_list("kind", "reason")
    assert list(states) == [("paused", "To pause"), ("free", "To free")]
    assert AgentSession.objects.get().reason == "To log_out"
    entries = AuditEntry.objects.filter(changes__has_key="reason").order_by("id").values_list("action", flat=True)
    assert list(entries) == ["pause_agent", "free_agent", "log_out_agent"]


def test_a_message_goes_to_those_whom_it_is_for(switch):
    here, away, other = AgentFactory(login="here"), AgentFactory(login="away"), AgentFactory(login="other")
    queue, client = QueueFactory(members=[here, away]), superuser()
    for agent in (here, other):
        presence.log_in(agent, ACTOR)
    send = reverse("admin:telephony_agentmessage_send")
    client.submit(send, text="To all")
    client.submit(send, text="To the queue", queue=queue.pk)
    client.submit(send, text="To one", agent=away.pk)

    got = AgentMessage.objects.order_by("id").values_list("text", "agent__login")
    assert sorted(got) == [("To all", "here"), ("To all", "other"), ("To one", "away"), ("To the queue", "here")]
    assert AuditEntry.objects.filter(action="message_agent").count() == 3


def test_messages_are_for_those_with_the_right():
    send = reverse("admin:telephony_agentmessage_send")
    AgentMessageFactory()

    assert staff("view_agentmessage").get(send).status_code == 403
    assert Supervision.objects.count() == 0
