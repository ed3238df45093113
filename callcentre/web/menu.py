"""The menu and the front page of the admin. They name every app, so they belong to the roof."""

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.admin import may_see, user_of
from callcentre.core.erasures import may_erase
from callcentre.core.scope import within_scope
from callcentre.overview.admin.pages import overview_panel
from callcentre.web.desk.home import agent_of, is_supervisor
from campaigns.models import RecordImport
from knowledgebase.models import Article, SearchMiss
from reports.admin.schedules import condition_of
from reports.catalogue import OUTBOUNDS, QUEUES, TICKETS, of_open_reports
from reports.models import Export, ExportMail
from webhooks.models import Webhook

SHOWN, SHOWN_IMPORTS = 5, 10
# Failures of reports are shown for so long.
RECENT = timedelta(days=7)


def campaigns_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the imports of today."""
    if not request.user.has_perm("campaigns.view_campaign"):
        return None
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    imports = within_scope(RecordImport.objects.select_related("campaign"), user_of(request))
    counts = ("progress_percent", "added_count", "duplicate_count", "faulty_count")
    columns = ("file_name", "target", "state", *counts, "campaign__code", "campaign__name")
    today = imports.filter(created_at__gte=midnight).order_by("-id").only(*columns)
    return {"template": "admin/campaigns/dashboard.html", "imports": list(today[:SHOWN_IMPORTS])}


def knowledgebase_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the panel's context; None if there is neither an article nor a search without a result."""
    if not may_see(request.user, "knowledgebase", "article"):
        return None
    is_told = may_see(request.user, "knowledgebase", "searchmiss")
    misses = list(SearchMiss.objects.select_related("catalog")[:SHOWN]) if is_told else []
    published = Article.objects.published().count()
    drafts = Article.objects.with_drafts().count()
    if not (misses or published or drafts):
        return None
    return {
        "template": "admin/knowledgebase/dashboard.html",
        "misses": misses,
        "voted_down": list(Article.objects.voted_down()[:SHOWN]),
        "published": published,
        "drafts": drafts,
        "articles_url": reverse("admin:knowledgebase_article_changelist"),
        "misses_url": reverse("admin:knowledgebase_searchmiss_changelist"),
    }


def reports_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the panel, or None if nothing has failed."""
    if not request.user.has_perm("reports.view_export"):
        return None
    failed_mail = ExportMail.objects.filter(export=OuterRef("pk"), state=ExportMail.State.FAILED)
    shown = of_open_reports(within_scope(Export.objects.all(), user_of(request)), request.user)
    recent = shown.filter(due_at__gte=timezone.now() - RECENT)
    failed = recent.filter(Q(state=Export.State.FAILED) | Exists(failed_mail))
    exports = list(failed.select_related("schedule").prefetch_related("mails")[:SHOWN])
    if not exports:
        return None
    return {
        "template": "admin/reports/dashboard.html",
        "is_troubled": True,
        "lines": [(export, condition_of(export)[1]) for export in exports],
    }


def webhooks_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the panel's context; None if no webhook is registered, or one is in trouble."""
    if not may_see(request.user, "webhooks", "webhook"):
        return None
    if not Webhook.objects.registered().exists() or Webhook.objects.troubled().exists():
        return None
    return {"template": "admin/webhooks/dashboard.html", "webhooks_url": reverse("admin:webhooks_webhook_changelist")}


class Page(NamedTuple):
    """A page in the menu: the list of a model or, after a slash, another page of it."""

    title: Any
    icon: str
    app: str
    name: str
    # Returns whether a user may open the page; None: each user who may see the model.
    is_open_to: Callable[[Any], bool] | None = None

    def is_shown_to(self, user: Any) -> bool:
        is_open = self.is_open_to is None or self.is_open_to(user)
        return is_open and may_see(user, self.app, self.name.partition("/")[0])


class Area(NamedTuple):
    """A group of pages in the menu. Folded, it shows its pages when it is opened or when one of them is shown."""

    title: Any
    pages: tuple[Page, ...]
    is_folded: bool


def area(title: Any, *pages: Page, is_folded: bool = False) -> Area:
    return Area(title, pages, is_folded)


MENU: tuple[Area, ...] = (
    area(
        _("Customers"),
        Page(_("Customers"), "person_search", "tickets", "customer"),
        Page(_("Companies"), "apartment", "tickets", "company"),
    ),
    area(
        _("Telephony"),
        Page(_("Calls"), "call", "telephony", "connection"),
        Page(_("Agents"), "support_agent", "telephony", "agent"),
        Page(_("Queues"), "queue", "telephony", "queue"),
        Page(_("Menus of callers"), "dialpad", "telephony", "menu"),
        Page(_("Call-backs"), "phone_callback", "telephony", "callback"),
        Page(_("Missed callers"), "phone_missed", "telephony", "missedcaller"),
        Page(_("Recordings"), "graphic_eq", "telephony", "recording"),
    ),
    area(
        _("Tickets"),
        Page(_("Tickets"), "confirmation_number", "tickets", "ticket"),
        Page(_("Chats"), "chat", "tickets", "chat"),
        Page(_("Received mail"), "inbox", "tickets", "receivedmail"),
        Page(_("Outgoing messages"), "outgoing_mail", "tickets", "dispatch"),
        Page(_("Ratings"), "star", "tickets", "rating"),
    ),
    area(
        _("Campaigns"),
        Page(_("Campaigns"), "campaign", "campaigns", "campaign"),
        Page(_("Records"), "contact_phone", "campaigns", "record"),
        Page(_("Imports"), "upload_file", "campaigns", "recordimport"),
        Page(_("Do not call"), "phone_disabled", "campaigns", "donotcall"),
        Page(_("Compliance"), "gavel", "campaigns", "campaign/compliance"),
    ),
    area(
        _("Reports"),
        Page(_("Agents work report"), "analytics", "reports", "export/report"),
        Page(_("Queues report"), "phone_in_talk", "reports", "export/queues", QUEUES.is_open_to),
        Page(_("Campaigns report"), "campaign", "reports", "export/outbounds", OUTBOUNDS.is_open_to),
        Page(_("Tickets report"), "fact_check", "reports", "export/tickets", TICKETS.is_open_to),
        Page(_("Exports of the report"), "download", "reports", "export"),
        Page(_("Exports of lists"), "download", "lists", "listexport"),
        Page(_("Actions on lists"), "playlist_add_check", "lists", "listaction"),
        Page(_("Scheduled reports"), "schedule_send", "reports", "schedule"),
        Page(_("Alarms"), "notifications", "overview", "alarm"),
    ),
    area(
        _("Knowledge base"),
        Page(_("Articles"), "article", "knowledgebase", "article"),
        Page(_("Catalogs"), "menu_book", "knowledgebase", "catalog"),
        Page(_("Searches without a result"), "search_off", "knowledgebase", "searchmiss"),
    ),
    area(
        _("Details of calls"),
        Page(_("States of agents"), "timeline", "telephony", "agentstate"),
        Page(_("Sessions of agents"), "login", "telephony", "agentsession"),
        Page(_("Calls offered to agents"), "ring_volume", "telephony", "offer"),
        Page(_("Messages to agents"), "campaign", "telephony", "agentmessage"),
        Page(_("Offered records"), "preview", "campaigns", "recordoffer"),
        Page(_("Attempts"), "phone_callback", "campaigns", "attempt"),
        Page(_("Transcriptions"), "forum", "telephony", "transcription"),
        is_folded=True,
    ),
    area(
        _("Webhooks"),
        Page(_("Webhooks"), "webhook", "webhooks", "webhook"),
        Page(_("Events"), "bolt", "webhooks", "event"),
        Page(_("Deliveries"), "outbox", "webhooks", "delivery"),
        Page(_("Attempts"), "swap_horiz", "webhooks", "attempt"),
        Page(_("Resends"), "replay", "webhooks", "resend"),
        is_folded=True,
    ),
    area(
        _("Settings of calls"),
        Page(_("Agent groups"), "groups", "telephony", "agentgroup"),
        Page(_("Pauses"), "pause_circle", "telephony", "pause"),
        Page(_("Skills"), "star_rate", "telephony", "skill"),
        Page(_("Priorities of callers"), "priority_high", "telephony", "callerpriority"),
        Page(_("Topics"), "topic", "telephony", "topicgroup"),
        Page(_("Fields of calls"), "edit_note", "telephony", "topicfield"),
        Page(_("Transfer shortcuts"), "phone_forwarded", "telephony", "transfershortcut"),
        Page(_("Screen pops"), "open_in_new", "telephony", "screenpop"),
        Page(_("Evaluation criteria"), "checklist", "telephony", "evaluationcriterion"),
        Page(_("Campaign groups"), "folder", "campaigns", "campaigngroup"),
        Page(_("Dictionary statuses"), "label", "campaigns", "dictionarystatus"),
        Page(_("Legal calling hours"), "schedule", "campaigns", "legalhours"),
        Page(_("Switches of dialling"), "power_settings_new", "campaigns", "diallingswitch"),
        is_folded=True,
    ),
    area(
        _("Settings of tickets"),
        Page(_("Ticket queues"), "move_to_inbox", "tickets", "ticketqueue"),
        Page(_("Teams"), "group_work", "tickets", "team"),
        Page(_("Canned replies"), "quickreply", "tickets", "cannedreply"),
        Page(_("Rules of tickets"), "rule", "tickets", "rule"),
        Page(_("Service levels"), "timer", "tickets", "servicelevel"),
        Page(_("Business calendars"), "calendar_month", "tickets", "businesscalendar"),
        Page(_("Macros"), "playlist_play", "tickets", "macro"),
        Page(_("Preferences of agents"), "manage_accounts", "tickets", "agentpreferences"),
        Page(_("Blocked senders"), "block", "tickets", "blockedsender"),
        Page(_("Statuses of tickets"), "flag", "tickets", "ticketstatus"),
        Page(_("Categories"), "category", "tickets", "ticketcategory"),
        Page(_("Types of tickets"), "label", "tickets", "tickettype"),
        Page(_("Custom fields"), "dynamic_form", "tickets", "customfield"),
        Page(_("Marketplaces"), "storefront", "tickets", "marketplace"),
        Page(_("Files"), "attach_file", "tickets", "storedfile"),
        Page(_("Settings of customers"), "tune", "tickets", "customersettings"),
        is_folded=True,
    ),
    area(
        _("Access"),
        Page(_("API users"), "key", "callcentre", "apiuser"),
        Page(_("Back-office users"), "person", "callcentre", "user"),
        Page(_("Groups of users"), "shield_person", "auth", "group"),
        Page(
            _("Groups at the provider"), "passkey", "signin", "providergroup", lambda _user: bool(settings.OIDC_ISSUER)
        ),
        Page(_("Lockouts"), "lock_person", "callcentre", "lockout"),
        is_folded=True,
    ),
    area(
        _("Changes"),
        Page(_("Audit log"), "manage_search", "callcentre", "auditlog"),
        Page(_("Changes of records"), "history", "campaigns", "recordchange"),
        Page(_("Changes of customers"), "history", "tickets", "customerchange"),
        Page(_("Versions of articles"), "difference", "knowledgebase", "articleversion"),
        Page(_("Changes of articles"), "history", "knowledgebase", "articlechange"),
        Page(_("Changes of webhooks"), "history", "webhooks", "webhookchange"),
        Page(_("Changes of API users"), "manage_history", "callcentre", "apiuserchange"),
        is_folded=True,
    ),
    area(
        _("Personal data"),
        Page(_("Data of a person"), "person_search", "callcentre", "personexport/person", may_erase),
        Page(_("Exports of personal data"), "download", "callcentre", "personexport"),
        Page(_("Deletions"), "delete_forever", "callcentre", "deletion"),
        Page(_("Legal holds"), "gavel", "callcentre", "legalhold"),
        Page(_("Retention"), "auto_delete", "callcentre", "retention/settings"),
        is_folded=True,
    ),
)


def menu(request: HttpRequest) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = [{"title": "", "items": _homes(request)}]
    for title, pages, is_folded in MENU:
        items = [
            _item(request, page.title, page.icon, _link(page.app, page.name))
            for page in pages
            if page.is_shown_to(request.user)
        ]
        if items:
            groups.append({"title": title, "items": items, "is_folded": is_folded})
    _keep_longest_active([item for group in groups for item in group["items"]])
    return groups


def _homes(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the overview, and the user's desk and notices. An agent who supervises nothing has only a desk."""
    homes = [_item(request, _("Overview"), "dashboard", reverse("admin:index"))]
    if request.user.is_superuser:
        homes.append(_item(request, _("First steps"), "checklist", reverse("first-steps")))
    if agent_of(request.user) is None:
        return homes
    desk = _item(request, _("My desk"), "headset_mic", reverse("desk"))
    own = [desk, _item(request, _("My notices"), "notifications", reverse("admin:tickets_agentpreferences_own"))]
    return [*homes, *own] if is_supervisor(request.user) else own


def _item(request: HttpRequest, title: Any, icon: str, link: str) -> dict[str, Any]:
    """Return a page of the menu. It is active on the pages below its address too; the front page has all below it."""
    is_front = link == reverse("admin:index")
    is_active = request.path == link if is_front else request.path.startswith(link)
    return {"title": title, "icon": icon, "link": link, "active": is_active}


def _keep_longest_active(items: list[dict[str, Any]]) -> None:
    """Leave only the longest active address active: the page below a list, not the list."""
    active = [item for item in items if item["active"]]
    for item in sorted(active, key=lambda item: len(item["link"]))[:-1]:
        item["active"] = False


@cache
def _link(app: str, page: str) -> str:
    model, _stroke, name = page.partition("/")
    return reverse(f"admin:{app}_{model}_{name or 'changelist'}")


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the live overview, and below it the panels of the apps that the user may see."""
    overview = overview_panel(request)
    makers = (campaigns_panel, knowledgebase_panel, reports_panel, webhooks_panel)
    panels = [panel for make in makers if (panel := make(request)) is not None]
    # Problems come first.
    panels.sort(key=lambda panel: not panel.get("is_troubled"))
    return {**context, "title": _("Overview"), "overview": overview, "panels": panels}
