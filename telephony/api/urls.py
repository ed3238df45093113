from callcentre.api.openapi import path
from callcentre.api.routers import route
from callcentre.core.errors import ErrorCode
from telephony.api.agents import AgentGroupViewSet, AgentViewSet, PauseViewSet
from telephony.api.callbacks import CallBackViewSet
from telephony.api.calls import CallViewSet, SupervisionViewSet
from telephony.api.connections import ConnectionViewSet, TranscriptionViewSet
from telephony.api.topics import QueueViewSet, ShortcutViewSet, TopicViewSet

path("login", "login", "Login of the agent.", "agent1", ErrorCode.AGENT_NOT_FOUND)
path("connection_id", "id", "Id of the connection.", "1416225570.341", ErrorCode.CONNECTION_NOT_FOUND)
path("callback_id", "id", "Id of the call-back.", "17", ErrorCode.CALLBACK_NOT_FOUND)
path("queue_id", "id", "Id of the queue.", "3", ErrorCode.QUEUE_NOT_FOUND)

urlpatterns = [
    route("agents", AgentViewSet, get="list"),
    route("agents/:login", AgentViewSet, get="retrieve", put="update"),
    route("agents/:login/login", AgentViewSet, post="log_in"),
    route("agents/:login/logout", AgentViewSet, post="log_out"),
    route("agents/:login/pause", AgentViewSet, post="pause"),
    route("agents/:login/free", AgentViewSet, post="free"),
    route("agents/:login/heartbeat", AgentViewSet, post="hear"),
    route("agents/:login/line", AgentViewSet, post="begin_line", delete="end_line"),
    route("agents_messages", AgentViewSet, post="send_message"),
    route("agents_statuses", AgentViewSet, get="statuses"),
    route("agents_groups", AgentGroupViewSet, get="list"),
    route("system/pauses", PauseViewSet, get="list"),
    route("callbacks", CallBackViewSet, get="list", post="create"),
    route("callbacks/:callback_id", CallBackViewSet, get="retrieve", delete="destroy"),
    route("connections", ConnectionViewSet, get="list"),
    route("connections/call", CallViewSet, post="call"),
    route("connections/topic", TopicViewSet, post="set_topic"),
    route("connections/:connection_id", ConnectionViewSet, get="retrieve"),
    route("connections/:connection_id/topic", TopicViewSet, get="of_connection"),
    route("connections/:connection_id/transcription", TranscriptionViewSet, get="retrieve"),
    route("connections/:connection_id/hangup", CallViewSet, post="hang_up"),
    route("connections/:connection_id/hold", CallViewSet, post="hold"),
    route("connections/:connection_id/resume", CallViewSet, post="resume"),
    route("connections/:connection_id/transfer", CallViewSet, post="transfer"),
    route("connections/:connection_id/consultation", CallViewSet, post="consult", delete="give_up"),
    route("connections/:connection_id/consultation/join", CallViewSet, post="join"),
    route("connections/:connection_id/consultation/hand_over", CallViewSet, post="hand_over"),
    route("connections/:connection_id/monitor", SupervisionViewSet, get="retrieve", post="monitor", delete="unmonitor"),
    route("connections/:connection_id/take_over", SupervisionViewSet, post="take_over"),
    route("queues", QueueViewSet, get="list"),
    route("queues/:queue_id/waiting_stats", QueueViewSet, get="waiting_stats"),
    route("queues/:queue_id/waiting_list", QueueViewSet, get="waiting_list"),
    route("queues/:queue_id/topics", TopicViewSet, get="of_queue"),
    route("system/transfer_shortcuts", ShortcutViewSet, get="list"),
]
