"""The operations of the API that belong to agents, calls and queues, and a world for them."""

from datetime import UTC, datetime

from telephony.models import Agent
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.contract import GROUP, INTEGER_OR_NULL, NUMBER, Operation, ours
from tests.telephony.factories import (
    AgentFactory,
    AgentGroupFactory,
    CallBackFactory,
    ConnectionFactory,
    ConnectionTopicFactory,
    ConsultationFactory,
    PauseFactory,
    QueueFactory,
    SupervisionFactory,
    TalkFactory,
    TopicFactory,
    TopicFieldFactory,
    TranscriptionFactory,
    TransferShortcutFactory,
    with_phone,
)

AGENT = {
    "agent_id": int,
    "login": str,
    "name": str,
    "surname": str,
    "email": str,
    "active": bool,
    "number": str,
    "outbound_mode": bool,
    "has_line": bool,
    "group_id": INTEGER_OR_NULL,
}
FIELD_VALUE = {"field_id": int, "value": str}
TOPIC = {"topic_id": int, "agent_login": str, "comment": str, "custom_fields": [FIELD_VALUE]}
QUEUE_TOPICS = {
    "topic_groups": [{"group_name": str, "topics": [{"id": int, "name": str, "show_custom_fields": bool}]}],
    "custom_fields": [{"id": int, "name": str, "type": str, "require": bool}],
}
TRANSCRIPTION = {
    "status": str,
    "parts": [{"begin": NUMBER, "end": NUMBER, "speaker": str, "text": str}],
    "summary": [{"content": str, "important": bool}],
    "sentiment": {"sentiment": str, "justification": str},
    "evaluatedCriteria": [{"criteriaId": str, "fulfilled": bool}],
    "talkListenSilenceRatio": {"talk": NUMBER, "listen": NUMBER, "silence": NUMBER},
}
SHORTCUT = {"transfer_shortcut_id": int, "queue": str, "number": str, "icon": str, "name": str}
CONNECTION = {
    "date": str,
    "src": str,
    "dst": str,
    "disposition": str,
    "duration": int,
    "billsec": int,
    "user_login": str,
    "connection_id": str,
    "type": str,
    "outbound_id": frozenset({str, type(None)}),
    "record_id": INTEGER_OR_NULL,
    "queue_id": INTEGER_OR_NULL,
    "topic_id": INTEGER_OR_NULL,
    "customer_id": INTEGER_OR_NULL,
    "filename": str,
    "transcription_status": str,
}
TALK = {"agent_login": str, "started_at": str, "seconds": int}
CALLER = {"phone_number": str, "started_at": str, "customer_id": INTEGER_OR_NULL, "customer_label": str}
CALLBACK = {
    "id": int,
    "queue_id": int,
    "phone_number": str,
    "customer_id": INTEGER_OR_NULL,
    **dict.fromkeys(("origin", "state", "disposition", "agent_login"), str),
    "attempts": int,
    "waiting_seconds": int,
    **dict.fromkeys(("created_at", "waiting_since", "next_attempt_at", "ended_at"), str),
    **dict.fromkeys(("caller_connection_id", "connection_id"), frozenset({str, type(None)})),
}
NEW_CALLBACK = {"queue_id": 88_001, "phone_number": "+48 22 555 01 07"}
AGENTS, AGENTS_WRITE = "agents:read", "agents:write"
CONNECTIONS, SUPERVISE = "connections:read", "supervision:write"
NEW_TOPIC = {
    "connection_id": "1416225570.99001",
    "topic_id": 88_002,
    "custom_fields": [{"field_id": 88_003, "value": "FV/1"}],
    "agent_login": "free",
}
# An agent and a number; a call that is going on, and one on hold.
NEW_CALL = {"sip": "101", "phone_number": "+48 22 555 01 07"}
TALKING, HELD = "/connections/1416225570.99002", "/connections/1416225570.99003"
# A call to which the phone 109 listens.
SUPERVISED = "/connections/1416225570.99004"
# Calls whose agent has a phone; in the second one a colleague is consulted.
WITH_PHONE, CONSULTING = "/connections/1416225570.99005", "/connections/1416225570.99006"
CONSULTATION = {
    **dict.fromkeys(("from_agent_login", "agent_login", "number", "reason"), str),
    **dict.fromkeys(("asked_at", "up_at", "joined_at", "ended_at"), str),
}

OPERATIONS = [
    # INTERFACE 4.3
    Operation("POST", "/agents/free/pause", AGENTS_WRITE, 204, None, 8, {"pause_id": 66_001}, "/agents/nobody/pause"),
    # INTERFACE 4.3: topics, transcriptions, transfer shortcuts
    Operation("GET", "/connections/1416225570.99001/topic", CONNECTIONS, 200, TOPIC, 3, None, "/connections/1.1/topic"),
    Operation(
        "GET",
        "/connections/1416225570.99001/transcription"
        "?includeSummary=true&includeSentiment=true&includeEvaluatedCriteria=true&includeTalkListenSilenceRatio=true",
        CONNECTIONS,
        200,
        TRANSCRIPTION,
        5,  # with the entry of the audit log
        None,
        "/connections/1.1/transcription",
    ),
    Operation("GET", "/queues/88001/topics", CONNECTIONS, 200, QUEUE_TOPICS, 5, None, "/queues/999999999/topics"),
    Operation("GET", "/system/transfer_shortcuts", "system:read", 200, [SHORTCUT], 2),
    Operation("POST", "/connections/call", "connections:write", 204, None, 2, NEW_CALL),
    # DECISIONS 9: agents
    ours("GET", "/agents", AGENTS, 200, [AGENT], 2),
    ours("GET", "/agents/free", AGENTS, 200, AGENT, 2, None, "/agents/nobody"),
    ours("PUT", "/agents/free", AGENTS_WRITE, 204, None, 3, {"outbound_mode": True}, "/agents/nobody"),
    ours("GET", "/agents_groups", AGENTS, 200, [GROUP], 2),
    ours(
        "GET",
        "/agents_statuses",
        AGENTS,
        200,
        [{"login": str, "status": str, "since": str, "pause_id": INTEGER_OR_NULL}],
        3,
    ),
    ours("POST", "/agents/free/login", AGENTS_WRITE, 204, None, 10, None, "/agents/nobody/login"),
    ours("POST", "/agents/working/logout", AGENTS_WRITE, 204, None, 8, None, "/agents/nobody/logout"),
    ours("POST", "/agents/working/free", AGENTS_WRITE, 204, None, 8, None, "/agents/nobody/free"),
    ours("POST", "/agents/working/heartbeat", AGENTS_WRITE, 204, None, 4, None, "/agents/nobody/heartbeat"),
    ours("POST", "/agents/lined/line", AGENTS_WRITE, 204, None, 10, None, "/agents/nobody/line"),
    ours("DELETE", "/agents/lined/line", AGENTS_WRITE, 204, None, 5, None, "/agents/nobody/line"),
    ours("GET", "/system/pauses", "system:read", 200, [{"id": int, "name": str, "active": bool}], 2),
    # DECISIONS 4
    ours("POST", f"{TALKING}/hangup", "connections:write", 204, None, 7, None, "/connections/1.1/hangup"),
    ours("POST", f"{TALKING}/hold", "connections:write", 204, None, 7, None, "/connections/1.1/hold"),
    ours("POST", f"{HELD}/resume", "connections:write", 204, None, 7, None, "/connections/1.1/resume"),
    ours(
        "POST",
        f"{TALKING}/transfer",
        "connections:write",
        204,
        None,
        8,
        {"queue_id": 88_001},
        "/connections/1.1/transfer",
    ),
    # Consultations
    ours(
        "POST",
        f"{WITH_PHONE}/consultation",
        "connections:write",
        204,
        None,
        14,
        {"number": "+48 22 555 01 99", "note": "Wants a refund."},
        "/connections/1.1/consultation",
    ),
    *(
        ours(method, f"{CONSULTING}{path}", "connections:write", 204, None, 11, None, f"/connections/1.1{path}")
        for method, path in (
            ("DELETE", "/consultation"),
            ("POST", "/consultation/join"),
            ("POST", "/consultation/hand_over"),
        )
    ),
    # Supervision
    ours(
        "POST",
        f"{TALKING}/monitor",
        SUPERVISE,
        204,
        None,
        13,
        {"sip": "101", "mode": "listen"},
        "/connections/1.1/monitor",
    ),
    ours("DELETE", f"{SUPERVISED}/monitor?sip=109", SUPERVISE, 204, None, 12, None, "/connections/1.1/monitor?sip=109"),
    ours("POST", f"{SUPERVISED}/take_over", SUPERVISE, 204, None, 12, {"sip": "109"}, "/connections/1.1/take_over"),
    ours(
        "GET",
        f"{SUPERVISED}/monitor",
        "supervision:read",
        200,
        [{"sip": str, "agent_login": str, "mode": str, "asked_by": str, "since": str}],
        3,
        None,
        "/connections/1.1/monitor",
    ),
    ours("POST", "/agents_messages", AGENTS_WRITE, 204, None, 6, {"text": "Come, please.", "all": True}),
    ours("POST", "/connections/topic", "connections:write", 204, None, 8, NEW_TOPIC),
    # DECISIONS 9: connections and queues
    ours("GET", "/connections", CONNECTIONS, 200, {"count": int, "result": [CONNECTION]}, 3),
    ours(
        "GET",
        "/connections/1416225570.99001",
        CONNECTIONS,
        200,
        {
            **CONNECTION,
            "cause": INTEGER_OR_NULL,
            **dict.fromkeys(("cause_text", "note"), str),
            "talks": [TALK],
            "consultations": [CONSULTATION],
        },
        4,
        None,
        "/connections/1.1",
    ),
    ours("GET", "/callbacks", CONNECTIONS, 200, {"count": int, "result": [CALLBACK]}, 3),
    ours("GET", "/callbacks/88004", CONNECTIONS, 200, CALLBACK, 2, None, "/callbacks/999999999"),
    ours("POST", "/callbacks", "connections:write", 201, {"id": int}, 8, NEW_CALLBACK),
    ours("DELETE", "/callbacks/88004", "connections:write", 204, None, 8, None, "/callbacks/999999999"),
    ours("GET", "/queues", CONNECTIONS, 200, [GROUP], 2),
    ours(
        "GET",
        "/queues/88001/waiting_stats",
        CONNECTIONS,
        200,
        {"waiting": int, "estimated_waiting_time": INTEGER_OR_NULL},
        3,
        None,
        "/queues/999999999/waiting_stats",
    ),
    ours("GET", "/queues/88001/waiting_list", CONNECTIONS, 200, [CALLER], 4, None, "/queues/999999999/waiting_list"),
]


def fill(size: int) -> None:
    agents = [*AgentFactory.create_batch(size, grouped=True), AgentFactory(login="free", number="101")]
    PauseFactory.create_batch(size)
    presence.log_in(AgentFactory(login="working"), ACTOR)
    presence.pause(Agent.objects.get(login="working"), ACTOR, PauseFactory(pk=66_001).pk)
    presence.log_in(AgentFactory(login="lined", number="199", has_line=True), ACTOR)
    AgentGroupFactory()
    queue = QueueFactory(pk=88_001, members=agents)
    ConnectionFactory.create_batch(size, waiting=True, queue=queue)
    long_ago = datetime.fromtimestamp(1416225570, UTC)
    call = ConnectionFactory(pk=99_001, created_at=long_ago, queue=queue, has_talks=True)
    TalkFactory.create_batch(size, connection=call)
    ConnectionFactory(pk=99_002, created_at=long_ago, talking=True)
    ConnectionFactory(pk=99_003, created_at=long_ago, talking=True, is_on_hold=True)
    listened_to = ConnectionFactory(pk=99_004, created_at=long_ago, talking=True, is_supervised=True)
    SupervisionFactory(connection=listened_to, agent=AgentFactory(login="boss", number="109"))
    with_phone(pk=99_005, created_at=long_ago, is_consulting=False)
    with_phone(pk=99_006, created_at=long_ago, is_consulting=True)
    ConsultationFactory.create_batch(size, connection=call, ended_at=long_ago)
    topic = TopicFactory(pk=88_002, group__queue=queue, show_custom_fields=True)
    TopicFactory.create_batch(size, group=topic.group)
    TopicFieldFactory(pk=88_003, queue=queue)
    TopicFieldFactory.create_batch(size, queue=queue)
    ConnectionTopicFactory(connection=call, topic=topic, fields=[{"field_id": 88_003, "value": "FV/1"}])
    TranscriptionFactory(connection=call, finished=True)
    CallBackFactory(pk=88_004, queue=queue, caller=call)
    CallBackFactory.create_batch(size, queue=queue)
    for _ in range(size):
        TransferShortcutFactory(queue=QueueFactory(), number="")
