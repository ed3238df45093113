"""The roles that a new installation delivers as groups of users: the rights of each (docs/security.md#roles).

Each is written once, by a migration. After it the group belongs to the installation.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

APPS = ("callcentre", "webhooks", "telephony", "knowledgebase", "tickets", "campaigns", "reports", "overview", "lists")
# Letter of a right -> the first word of the permission.
ACCESS = {"v": "view", "a": "add", "c": "change", "d": "delete", "s": "share"}
# The name that the database has -> the name that people read.
NAMES = {
    "Agent": _("Agent"),
    "Supervisor": _("Supervisor"),
    "Administrator": _("Administrator"),
    "Knowledge editor": _("Knowledge editor"),
    "Auditor": _("Auditor"),
}

# "app.model" -> letters of rights. The desk needs none of them.
AGENT = {
    **dict.fromkeys(("tickets.ticket", "tickets.chat", "tickets.customer", "tickets.company"), "vac"),
    **dict.fromkeys(("knowledgebase.article", "knowledgebase.catalog", "knowledgebase.category"), "v"),
}
SUPERVISOR = {
    **AGENT,
    # The work of agents and queues.
    **dict.fromkeys(("telephony.agent", "telephony.queue"), "vc"),
    "telephony.queuemember": "vacd",
    "telephony.openinghours": "vacd",
    **dict.fromkeys(("telephony.agentgroup", "telephony.pause", "telephony.agentsession", "telephony.agentstate"), "v"),
    **dict.fromkeys(("telephony.connection", "telephony.offer", "telephony.leg", "telephony.talk"), "v"),
    **dict.fromkeys(("telephony.transfer", "telephony.callcommand", "telephony.connectiontopic"), "v"),
    **dict.fromkeys(("telephony.recording", "telephony.transcription"), "vc"),
    **dict.fromkeys(("telephony.topicgroup", "telephony.topic", "telephony.topicfield"), "v"),
    **dict.fromkeys(("telephony.evaluationcriterion", "telephony.transfershortcut"), "v"),
    # Campaigns.
    **dict.fromkeys(("campaigns.campaign", "campaigns.record"), "vacd"),
    **dict.fromkeys(("campaigns.campaignfield", "campaigns.campaignhours", "campaigns.retryrule"), "vacd"),
    **dict.fromkeys(("campaigns.recordstatus", "campaigns.additionalnumber"), "vacd"),
    "campaigns.donotcall": "vad",
    **dict.fromkeys(("campaigns.recordimport", "campaigns.diallingswitch"), "va"),
    **dict.fromkeys(("campaigns.attempt", "campaigns.recordchange", "campaigns.recordoffer"), "v"),
    **dict.fromkeys(("campaigns.diallingday", "campaigns.diallerstate"), "v"),
    **dict.fromkeys(("campaigns.campaigngroup", "campaigns.dictionarystatus", "campaigns.legalhours"), "v"),
    # Tickets and their mail.
    **dict.fromkeys(("tickets.receivedmail", "tickets.dispatch"), "vc"),
    "tickets.cannedreply": "vacd",
    **dict.fromkeys(("tickets.ticketqueue", "tickets.ticketqueuehours", "tickets.customfield"), "v"),
    **dict.fromkeys(("tickets.ticketstatus", "tickets.ticketsubstatus", "tickets.ticketcategory"), "v"),
    **dict.fromkeys(("tickets.rating", "tickets.storedfile", "tickets.customerchange"), "v"),
    # Figures.
    "reports.export": "va",
    **dict.fromkeys(("reports.schedule", "overview.alarm"), "vacd"),
    "knowledgebase.searchmiss": "v",
    # Lists.
    "lists.listexport": "va",
    "lists.listaction": "v",
    "lists.savedview": "s",
}
KNOWLEDGE_EDITOR = {
    **dict.fromkeys(("knowledgebase.article", "knowledgebase.catalog", "knowledgebase.category"), "vacd"),
    **dict.fromkeys(("knowledgebase.articleimage", "knowledgebase.searchmiss"), "vacd"),
    **dict.fromkeys(("knowledgebase.articleversion", "knowledgebase.articlechange"), "v"),
}
_BY_MODEL: Mapping[str, Mapping[str, str]] = {
    "Agent": AGENT,
    "Supervisor": SUPERVISOR,
    "Knowledge editor": KNOWLEDGE_EDITOR,
}


def has_right(role: str, app: str, codename: str) -> bool:
    """Return whether a delivered role has the permission: administrators have all, auditors may view all."""
    if app not in APPS and (app, codename.partition("_")[2]) != ("auth", "group"):
        return False
    access, _underscore, model = codename.partition("_")
    if role == "Administrator":
        return True
    if role == "Auditor":
        return access == ACCESS["v"]
    return access in {ACCESS[letter] for letter in _BY_MODEL[role].get(f"{app}.{model}", "")}


def rights_of(role: str, permissions: Iterable[tuple[int, str, str]]) -> list[int]:
    """Return the keys of the permissions (key, app, code name) that the role has."""
    return [pk for pk, app, codename in permissions if has_right(role, app, codename)]


def deliver(apps: Any, roles: Iterable[str]) -> None:
    """Write these roles as groups, in a migration. A group of the same name stays as it is."""
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    known = list(permission.objects.values_list("pk", "content_type__app_label", "codename"))
    for role in roles:
        made, is_new = group.objects.get_or_create(name=role)
        if is_new:
            made.permissions.set(rights_of(role, known))
