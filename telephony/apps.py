from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class TelephonyConfig(AppConfig):
    name = "telephony"
    verbose_name = _("Telephony")
    # Right of the API -> permissions of the admin that stand for it (docs/decisions/0021).
    api_permissions = {
        "agents:read": ("view_agent", "view_agentgroup"),
        "agents:write": ("change_agent", "add_agentmessage"),
        "connections:read": (
            *("view_connection", "view_queue", "view_topicgroup", "view_transcription", "view_callback"),
        ),
        "connections:write": ("change_connection", "add_callback", "change_callback"),
        "supervision:read": ("view_connection", "monitor_connection"),
        "supervision:write": ("monitor_connection",),
        # The report of queues.
        "reports:read": ("view_queue",),
        "system:read": ("view_pause", "view_transfershortcut"),
        "system:write": ("change_pause", "change_transfershortcut"),
    }
    # Role -> letters of rights -> models (callcentre/core/roles.py).
    role_rights: RoleRights = {
        "Supervisor": {
            "vc": "agent queue recording transcription",
            "vacd": "queuemember openinghours prompt screenpop agentskill requiredskill callerpriority",
            "vac": "callback",
            "m": "connection",
            "va": "agentmessage",
            "v": (
                "agentgroup pause skill agentsession agentstate connection offer leg talk transfer callcommand "
                "missedcaller connectiontopic menu menuentry topicgroup topic topicfield evaluationcriterion "
                "transfershortcut"
            ),
        }
    }

    def ready(self) -> None:
        from telephony import deletions

        deletions.register_kinds()
