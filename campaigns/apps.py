from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class CampaignsConfig(AppConfig):
    name = "campaigns"
    verbose_name = _("Campaigns")
    # Right of the API -> permissions of the admin that stand for it (docs/decisions/0021).
    api_permissions = {
        "campaigns:read": ("view_campaign", "view_campaigngroup", "view_record", "view_donotcall"),
        "campaigns:write": (
            *("add_campaign", "change_campaign", "add_campaigngroup", "add_record", "change_record"),
            *("add_donotcall", "delete_donotcall"),
        ),
        # The report of campaigns.
        "reports:read": ("view_campaign",),
        "system:read": ("view_diallingswitch",),
        "system:write": ("add_diallingswitch",),
    }
    # Role -> letters of rights -> models (callcentre/core/roles.py).
    role_rights: RoleRights = {
        "Supervisor": {
            "vacd": "campaign record campaignfield campaignhours retryrule recordstatus additionalnumber",
            "vad": "donotcall",
            "va": "recordimport diallingswitch",
            "v": (
                "attempt recordchange recordoffer diallingday diallerstate campaigngroup dictionarystatus legalhours"
            ),
        },
    }

    def ready(self) -> None:
        from callcentre.core.deletions import register_remarks
        from campaigns import deletions
        from campaigns.dialling import previews
        from campaigns.dialling.outcomes import Hooks
        from campaigns.timeline import ATTEMPTS, call_branches, names
        from telephony import call_lookups
        from telephony.calls import campaign_hooks
        from telephony.verbs import ledger
        from tickets import timeline

        register_remarks("customer", deletions.remarks)
        call_lookups.register_call_search(call_branches)
        call_lookups.register_campaign_names(names)
        campaign_hooks.register(Hooks())
        ledger.on_preview_end(previews.agent_left)
        timeline.register(ATTEMPTS)
