"""The menu and the front page of the admin. They name every app, so they belong to the roof."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from callcentre.web.desk.home import agent_of, is_supervisor
from campaigns.admin.dashboard import campaigns_panel
from knowledgebase.admin.dashboard import knowledgebase_panel
from reports.admin.dashboard import reports_panel
from telephony.admin.board import board_panel
from tickets.admin.dashboard import tickets_panel
from webhooks.admin.dashboard import webhooks_panel

# Area -> title, icon, app and model; after a slash the page, if it is not the list.
MENU: list[tuple[Any, list[tuple[Any, str, str, str]]]] = [
    (
        _("Campaigns"),
        [
            (_("Campaigns"), "campaign", "campaigns", "campaign"),
            (_("Records"), "contact_phone", "campaigns", "record"),
            (_("Imports"), "upload_file", "campaigns", "recordimport"),
            (_("Do not call"), "phone_disabled", "campaigns", "donotcall"),
            (_("Attempts"), "phone_callback", "campaigns", "attempt"),
            (_("Legal calling hours"), "schedule", "campaigns", "legalhours"),
            (_("Compliance"), "gavel", "campaigns", "campaign/compliance"),
            (_("Offered records"), "preview", "campaigns", "recordoffer"),
            (_("Switches of dialling"), "power_settings_new", "campaigns", "diallingswitch"),
            (_("Campaign groups"), "folder", "campaigns", "campaigngroup"),
            (_("Dictionary statuses"), "label", "campaigns", "dictionarystatus"),
            (_("Changes of records"), "history", "campaigns", "recordchange"),
        ],
    ),
    (
        _("Tickets"),
        [
            (_("Tickets"), "confirmation_number", "tickets", "ticket"),
            (_("Ticket queues"), "move_to_inbox", "tickets", "ticketqueue"),
            (_("Received mail"), "inbox", "tickets", "receivedmail"),
            (_("Outgoing messages"), "outgoing_mail", "tickets", "dispatch"),
            (_("Canned replies"), "quickreply", "tickets", "cannedreply"),
            (_("Ratings"), "star", "tickets", "rating"),
            (_("Files"), "attach_file", "tickets", "storedfile"),
            (_("Chats"), "chat", "tickets", "chat"),
            (_("Marketplaces"), "storefront", "tickets", "marketplace"),
            (_("Statuses of tickets"), "flag", "tickets", "ticketstatus"),
            (_("Categories"), "category", "tickets", "ticketcategory"),
            (_("Custom fields"), "dynamic_form", "tickets", "customfield"),
        ],
    ),
    (
        _("Customers"),
        [
            (_("Customers"), "person_search", "tickets", "customer"),
            (_("Companies"), "apartment", "tickets", "company"),
            (_("Changes of customers"), "history", "tickets", "customerchange"),
            (_("Settings of customers"), "tune", "tickets", "customersettings"),
        ],
    ),
    (
        _("Telephony"),
        [
            (_("Agents"), "support_agent", "telephony", "agent"),
            (_("Agent groups"), "groups", "telephony", "agentgroup"),
            (_("Pauses"), "pause_circle", "telephony", "pause"),
            (_("States of agents"), "timeline", "telephony", "agentstate"),
            (_("Sessions of agents"), "login", "telephony", "agentsession"),
            (_("Calls"), "call", "telephony", "connection"),
            (_("Calls offered to agents"), "ring_volume", "telephony", "offer"),
            (_("Queues"), "queue", "telephony", "queue"),
            (_("Topics"), "topic", "telephony", "topicgroup"),
            (_("Fields of calls"), "edit_note", "telephony", "topicfield"),
            (_("Transfer shortcuts"), "phone_forwarded", "telephony", "transfershortcut"),
            (_("Transcriptions"), "forum", "telephony", "transcription"),
            (_("Recordings"), "graphic_eq", "telephony", "recording"),
            (_("Evaluation criteria"), "checklist", "telephony", "evaluationcriterion"),
        ],
    ),
    (
        _("Reports"),
        [
            (_("Agents work report"), "analytics", "reports", "export/report"),
            (_("Exports of the report"), "download", "reports", "export"),
            (_("Scheduled reports"), "schedule_send", "reports", "schedule"),
        ],
    ),
    (
        _("Knowledge base"),
        [
            (_("Articles"), "article", "knowledgebase", "article"),
            (_("Catalogs"), "menu_book", "knowledgebase", "catalog"),
            (_("Searches without a result"), "search_off", "knowledgebase", "searchmiss"),
            (_("Versions of articles"), "difference", "knowledgebase", "articleversion"),
            (_("Changes of articles"), "history", "knowledgebase", "articlechange"),
        ],
    ),
    (
        _("Webhooks"),
        [
            (_("Webhooks"), "webhook", "webhooks", "webhook"),
            (_("Events"), "bolt", "webhooks", "event"),
            (_("Deliveries"), "outbox", "webhooks", "delivery"),
            (_("Attempts"), "swap_horiz", "webhooks", "attempt"),
            (_("Resends"), "replay", "webhooks", "resend"),
            (_("Changes of webhooks"), "history", "webhooks", "webhookchange"),
        ],
    ),
    (
        _("Access"),
        [
            (_("API users"), "key", "callcentre", "apiuser"),
            (_("Changes of API users"), "manage_history", "callcentre", "apiuserchange"),
            (_("Back-office users"), "person", "callcentre", "user"),
            (_("Groups of users"), "shield_person", "auth", "group"),
            (_("Lockouts"), "lock_person", "callcentre", "lockout"),
            (_("Deletions"), "delete_forever", "callcentre", "deletion"),
        ],
    ),
]


def menu(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the areas with the pages that the user may see."""
    groups: list[dict[str, Any]] = [{"title": "", "items": _homes(request)}]
    for title, pages in MENU:
        items = [
            {"title": name, "icon": icon, "link": _link(app, page)}
            for name, icon, app, page in pages
            if _may_see(request, app, page.partition("/")[0])
        ]
        _mark_page_below_list(request.path, items)
        if items:
            groups.append({"title": title, "separator": True, "items": items})
    return groups


def _homes(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the overview and the user's desk. An agent who supervises nothing has only a desk."""
    homes = [{"title": _("Overview"), "icon": "dashboard", "link": reverse("admin:index")}]
    if agent_of(request.user) is None:
        return homes
    desk = {"title": _("My desk"), "icon": "headset_mic", "link": reverse("desk")}
    return [*homes, desk] if is_supervisor(request.user) else [desk]


def _mark_page_below_list(path: str, items: list[dict[str, Any]]) -> None:
    """Mark only the longest matching address as active: the page below a list, not the list."""
    shown = [item["link"] for item in items if path.startswith(item["link"])]
    for item in items:
        if item["link"] in shown and item["link"] != max(shown, key=len):
            item["active"] = False


def _link(app: str, page: str) -> str:
    model, _stroke, name = page.partition("/")
    return reverse(f"admin:{app}_{model}_{name or 'changelist'}")


def _may_see(request: HttpRequest, app: str, model: str) -> bool:
    return any(request.user.has_perm(f"{app}.{access}_{model}") for access in ("view", "change"))


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the panels of the front page, of the apps that the user may see."""
    makers = (board_panel, campaigns_panel, knowledgebase_panel, reports_panel, tickets_panel, webhooks_panel)
    panels = [panel for make in makers if (panel := make(request)) is not None]
    # Problems come first.
    panels.sort(key=lambda panel: not panel.get("is_troubled"))
    return {**context, "title": _("Overview"), "panels": panels}
