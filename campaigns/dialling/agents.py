"""The agents of a campaign who can take its calls, read in one statement."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from callcentre.core.statements import Statement, rows_of
from campaigns.dialling.refusals import NUMBER, PHONE
from telephony.models.browser_phone import PHONE_IS_READY
from telephony.models.connection import LINE_IS_READY, phone_is_occupied

# For this time an agent rests after the phone, or the standing line, could not be rung; and a campaign after the switch
# refused its last call. Attempts that were dialled long before are not looked at. While the trunk fails, all campaigns
# rest, but for the call that tries it.
AGENT_RESTS, CAMPAIGN_RESTS = timedelta(seconds=30), timedelta(seconds=10)
_LOOK_BACK = timedelta(minutes=1)

# Agents of the campaign in outbound mode who are logged in, with their states. `is_on_phone`: a call occupies the
# phone, though the state says free, as after a pause during a call. `of_other`: the call is of another campaign.
_AGENTS = Statement("""
WITH own AS MATERIALIZED (
  SELECT id, CASE
    WHEN EXISTS (
      SELECT FROM campaigns_trunkfailure WHERE trunk = %(trunk)s AND ended_at IS NULL AND try_at > %(now)s
    ) THEN 'trunk_failed'
    WHEN (
      SELECT figures->>'refused' = '{number}' AND ended_at > %(now)s - %(campaign_rests)s FROM campaigns_attempt
      WHERE campaign_id = %(campaign)s AND dialled_at > %(now)s - %(look_back)s AND ended_at IS NOT NULL
      ORDER BY ended_at DESC LIMIT 1
    ) THEN 'call_refused' ELSE '' END AS rest
  FROM campaigns_campaign WHERE id = %(campaign)s
)
SELECT a.id, a.login, a.number, a.has_line, st.kind, st.started_at, {phone_is_occupied} AS is_on_phone,
  EXISTS (SELECT FROM telephony_agentline WHERE agent_id = a.id AND {line_is_ready}) AS is_line_ready,
  CASE WHEN a.has_line THEN
    EXISTS (SELECT FROM telephony_agentline WHERE agent_id = a.id AND ended_at IS NULL AND state = 'up')
    ELSE false END AS is_line_up,
  st.ends_at, st.resumes_as,
  st.connection_id IS NOT NULL AND EXISTS (
    SELECT FROM telephony_connection c
    WHERE c.id = st.connection_id AND c.campaign_id <> own.id) AS is_in_call_of_other,
  st.kind = 'free' AND (
    EXISTS (
      SELECT FROM (SELECT * FROM telephony_agentline WHERE agent_id = a.id ORDER BY id DESC LIMIT 1) AS line
      WHERE line.ended_at > %(now)s - %(agent_rests)s AND line.up_at IS NULL AND line.hangup_asked_at IS NULL)
    OR a.id IN (
      SELECT agent_id FROM campaigns_attempt
      WHERE dialled_at > %(now)s - %(look_back)s AND ended_at > %(now)s - %(agent_rests)s
        AND outcome = 'not_dialled' AND figures->>'refused' = '{phone}')
  ) AS is_resting,
  own.rest
FROM own
JOIN campaigns_campaign_agents member ON member.campaign_id = own.id
JOIN telephony_agent a ON a.id = member.agent_id AND a.is_active AND a.outbound_mode AND a.number <> ''
  AND {phone_is_ready}
JOIN telephony_agentsession s ON s.agent_id = a.id AND s.ended_at IS NULL
JOIN telephony_agentstate st ON st.agent_id = a.id AND st.ended_at IS NULL
ORDER BY st.started_at, a.id
""").of(
    number=NUMBER,
    phone_is_occupied=phone_is_occupied("a.id"),
    line_is_ready=LINE_IS_READY,
    phone=PHONE,
    phone_is_ready=PHONE_IS_READY,
)


@dataclass(frozen=True, slots=True)
class CampaignAgent:
    """An agent who is logged in for a campaign; the one who is in the state the longest comes first.

    `is_line_ready`: the standing line can take a call. `is_line_up`: there is a line, perhaps in a call. `is_resting`:
    the phone could not be rung a moment ago. `rest`: the code of the reason for which the campaign rests, or none.
    """

    id: int
    login: str
    number: str
    has_line: bool
    state: str
    since: datetime
    is_on_phone: bool
    is_line_ready: bool = False
    is_line_up: bool = False
    ends_at: datetime | None = None
    resumes_as: str = ""
    is_in_call_of_other: bool = False
    is_resting: bool = False
    rest: str = ""

    @property
    def is_free(self) -> bool:
        return self.state == "free" and not self.is_on_phone and not self.is_resting

    @property
    def takes_calls_ahead(self) -> bool:
        """Whether calls may be placed before this agent is known: the agent has a line, so joins take no time."""
        return self.is_line_up

    @property
    def is_busy(self) -> bool:
        """Whether the agent takes another call after the present one."""
        return self.state in ("ringing", "talking", "wrap_up") and self.resumes_as == "free"


def agents_of(campaign_id: int) -> list[CampaignAgent]:
    values: dict[str, Any] = {
        "campaign": campaign_id,
        "now": timezone.now(),
        "look_back": _LOOK_BACK,
        "agent_rests": AGENT_RESTS,
        "campaign_rests": CAMPAIGN_RESTS,
        "trunk": settings.TRUNK,
    }
    return [CampaignAgent(*row) for row in rows_of(_AGENTS, values)]
