"""An agent who has logged in to the back office, without any permission, and the requests of the desk."""

from typing import Any

from django.test import Client

from telephony.models import Agent, AgentState, Connection
from telephony.verbs import presence
from tests.callcentre.factories import UserFactory
from tests.campaigns.factories import AttemptFactory, RecordFactory
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory, ConnectionFactory

JSON = "application/json"


class Desk(Client):
    """A browser of an agent at the desk."""

    agent: Agent

    def act(self, action: str, **form: Any) -> Any:
        """Send an action as the page's script does."""
        return self.post(f"/admin/desk/{action}/", form, headers={"Accept": JSON})

    def now(self, **query: Any) -> dict[str, Any]:
        """Return the changed parts as a poll reads them."""
        answer = self.get("/admin/desk/now", query, headers={"Accept": JSON, "X-Poll": "1"})
        assert answer.status_code == 200, answer.status_code
        parts: dict[str, Any] = answer.json()["parts"]
        return parts

    def part(self, name: str, **query: Any) -> str:
        """Return the HTML of a part."""
        html: str = self.now(**query)[name]["html"]
        return html

    @property
    def state(self) -> str:
        return AgentState.objects.get(agent=self.agent, ended_at=None).kind


def desk_of(login: str = "anna", *, is_logged_in: bool = True, **values: Any) -> Desk:
    """Return the desk of a new agent with a phone, who has no permission in the back office."""
    desk = Desk()
    user = UserFactory(staff=True, username=f"user-of-{login}")
    trait = {} if "number" in values else {"with_phone": True}
    desk.agent = AgentFactory(login=login, user=user, **trait, **values)
    desk.force_login(user)
    if is_logged_in:
        presence.log_in(desk.agent, ACTOR)
    return desk


def talk(desk: Desk, **values: Any) -> Connection:
    """Return a call in which the agent talks."""
    traits: dict[str, Any] = {"talking": True, "agent": desk.agent, **values}
    connection: Connection = ConnectionFactory(**traits)
    presence.ring(desk.agent, connection, connection.created_at)
    presence.talk(desk.agent, connection, connection.created_at)
    return connection


def campaign_talk(desk: Desk, fields: list[str] | None = None, **values: Any) -> Connection:
    """Return a call of a campaign in which the agent talks."""
    record = RecordFactory(system_status="IN_PROGRESS", **values)
    campaign = {"campaign_id": record.campaign_id, "campaign_code": record.campaign.code}
    connection = talk(desk, **campaign, record_id=record.pk, dst=record.phone_number)
    AttemptFactory(record=record, connection=connection, agent=desk.agent)
    return connection


def errors_of(answer: Any) -> list[str]:
    """Return the sentences of a refused action."""
    found: list[str] = answer.json()["errors"]
    return found
