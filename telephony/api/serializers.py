from typing import Any

from telephony.models import Agent


def agent_data(agent: Agent) -> dict[str, Any]:
    return {
        "agent_id": agent.pk,
        "login": agent.login,
        "name": agent.name,
        "surname": agent.surname,
        "email": agent.email,
        "active": agent.is_active,
        "number": agent.number,
        "outbound_mode": agent.outbound_mode,
        "has_line": agent.has_line,
        "group_id": agent.group_id,
    }
