"""The accounts of calls, agents and recordings (callcentre/core/accounts.py). A change of the switch has a minute."""

from callcentre.core.accounts import account, files_account
from callcentre.core.statements import Statement
from telephony.models import Prompt, Recording
from telephony.models.connection import PHONE_IS_IN_CALL

account(
    "open calls",
    "Each open call has a channel at the switch, or waits to be placed.",
    """SELECT 'call ' || c.id || ' is ' || c.state || ' since ' || c.created_at FROM telephony_connection c
    WHERE c.state NOT IN ('ended', 'queued') AND c.created_at < now() - interval '1 minute'
      AND NOT EXISTS (SELECT FROM telephony_leg l WHERE l.connection_id = c.id AND l.ended_at IS NULL)
      AND NOT EXISTS (SELECT FROM telephony_agentline l WHERE l.connection_id = c.id AND l.ended_at IS NULL)""",
)
account(
    "calls to be placed",
    "A call is placed within ten minutes, unless it waits for its agent's phone.",
    Statement("""SELECT 'call ' || id || ' waits since ' || created_at FROM telephony_connection
    WHERE state = 'queued' AND created_at < now() - interval '10 minutes' AND NOT {phone_is_in_call}""").of(
        phone_is_in_call=PHONE_IS_IN_CALL
    ),
)
account(
    "channels",
    "No channel is left of a call that has ended.",
    """SELECT 'call ' || c.id || ': channel ' || l.channel_id FROM telephony_leg l
    JOIN telephony_connection c ON c.id = l.connection_id
    WHERE l.ended_at IS NULL AND c.state = 'ended' AND c.ended_at < now() - interval '1 minute'""",
)
account(
    "agents in calls",
    "An agent who rings or talks has an open call, and no wrap-up is longer than it should be.",
    """SELECT 'agent ' || a.login || ' is ' || s.kind || ' since ' || s.started_at FROM telephony_agentstate s
    JOIN telephony_agent a ON a.id = s.agent_id LEFT JOIN telephony_connection c ON c.id = s.connection_id
    WHERE s.ended_at IS NULL AND s.started_at < now() - interval '1 minute'
      AND (s.kind IN ('ringing', 'talking') AND (c.id IS NULL OR c.ended_at < now() - interval '1 minute')
           OR s.kind = 'wrap_up' AND s.ends_at < now() - interval '1 minute')""",
)
account(
    "agents' states",
    "An agent who is logged in has one state, and one who is not has none.",
    """SELECT 'agent ' || login || ' has ' || sessions || ' log-ins and ' || states || ' states' FROM (
      SELECT a.login,
        (SELECT count(*) FROM telephony_agentsession s WHERE s.agent_id = a.id AND s.ended_at IS NULL) AS sessions,
        (SELECT count(*) FROM telephony_agentstate s WHERE s.agent_id = a.id AND s.ended_at IS NULL) AS states
      FROM telephony_agent a
    ) counted WHERE sessions <> states OR sessions > 1""",
)
account(
    "standing lines",
    "A line that is up belongs to an agent who is logged in.",
    """SELECT 'line ' || l.id || ' of agent ' || a.login FROM telephony_agentline l
    JOIN telephony_agent a ON a.id = l.agent_id WHERE l.ended_at IS NULL
      AND l.asked_at < now() - interval '1 minute' AND NOT EXISTS (
      SELECT FROM telephony_agentsession s WHERE s.agent_id = l.agent_id
      AND (s.ended_at IS NULL OR s.ended_at > now() - interval '1 minute'))""",
)
account(
    "recordings",
    "The recordings of a call are looked for once it has ended.",
    """SELECT 'recording ' || r.name FROM telephony_recording r JOIN telephony_connection c ON c.id = r.connection_id
    WHERE r.state = 'expected' AND c.ended_at < now() - interval '10 minutes'""",
)
files_account(
    "files of recordings", "Each stored recording has its file.", Recording.objects.ready, "file", "recordings"
)
files_account("files of prompts", "Each prompt has its file.", Prompt.objects.all, "file")
