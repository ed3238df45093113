"""The agents of a campaign who can take its calls, read in one statement."""

from dataclasses import dataclass

from django.db import connection

from telephony.models.connection import LEG_OCCUPIES_PHONE

# Agents of the campaign in outbound mode who are logged in, with their states. `is_on_phone`: a leg occupies the phone,
# though the state says free, as after a pause during a call.
_AGENTS = f"""
SELECT a.id, a.login, a.number, a.has_line, st.kind, st.started_at,
  EXISTS (SELECT FROM telephony_leg WHERE agent_id = a.id AND {LEG_OCCUPIES_PHONE}) AS is_on_phone
FROM campaigns_campaign_agents member
JOIN telephony_agent a ON a.id = member.agent_id AND a.is_active AND a.outbound_mode AND a.number <> ''
JOIN telephony_agentsession s ON s.agent_id = a.id AND s.ended_at IS NULL
JOIN telephony_agentstate st ON st.agent_id = a.id AND st.ended_at IS NULL
WHERE member.campaign_id = %s
ORDER BY st.started_at, a.id
"""  # noqa: S608  (of our own constants)


@dataclass(frozen=True, slots=True)
class CampaignAgent:
    """An agent who is logged in for a campaign; the one who is in the state the longest comes first."""

    id: int
    login: str
    number: str
    has_line: bool
    state: str
    since: object
    is_on_phone: bool

    @property
    def is_free(self) -> bool:
        return self.state == "free" and not self.is_on_phone


def agents_of(campaign_id: int) -> list[CampaignAgent]:
    with connection.cursor() as cursor:
        cursor.execute(_AGENTS, [campaign_id])
        return [CampaignAgent(*row) for row in cursor.fetchall()]
