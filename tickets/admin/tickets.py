"""The list of tickets: what is mine, what is nobody's, what waits for us, what is overdue; and any of a million."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db import connection
from django.db.models import Case, F, Q, QuerySet, When
from django.db.models.functions import Least
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import (
    AutocompleteSelectFilter,
    ChoicesDropdownFilter,
    MultipleRelatedDropdownFilter,
    RelatedDropdownFilter,
    TextFilter,
)

from callcentre.admin import (
    Admin,
    DatesFilter,
    DeletableMixin,
    PeriodFilter,
    UncountedChangeList,
    UncountedMixin,
    display,
)
from callcentre.admin.lists import rows_up_to
from callcentre.admin.periods import Spans, within
from callcentre.core.errors import ErrorCode
from telephony.models import Agent
from tickets.admin import ticket_search
from tickets.admin.ticket_add_page import TicketOpening
from tickets.admin.ticket_bulk_actions import TicketBulkActions
from tickets.admin.ticket_page import ICONS, STATUS_COLOURS, TicketPage
from tickets.admin.ticket_page_forms import tags_of
from tickets.admin.ticket_page_sidebar import dues_of
from tickets.admin.ticket_relations import TicketActions
from tickets.models import Message, Ticket, TicketStatus
from tickets.models.ticket import RESPONSE_IS_OWED

MINE, UNASSIGNED, WAITING, LATE = "mine", "unassigned", "waiting", "late"
VIEWS = {MINE: _("Mine"), UNASSIGNED: _("Unassigned"), WAITING: _("Waiting for us"), LATE: _("Overdue")}
OURS = (TicketStatus.Kind.NEW, TicketStatus.Kind.IN_PROGRESS)
# What narrows a list beside its view: then the view's own way of finding the first of all does not serve.
NARROWING = ("queue", "status", "category", "source", "agent", "customer", "tags", "q", "date")
# A view's count is said up to this.
COUNTED = 99

# Of each view so many at most: rows of partial indexes.
_COUNTS = """
SELECT
  (SELECT count(*) FROM (
     SELECT 1 FROM tickets_ticket WHERE closed_at IS NULL AND agent_id = %(agent)s LIMIT %(limit)s) s),
  (SELECT count(*) FROM (
     SELECT 1 FROM tickets_ticket WHERE closed_at IS NULL AND agent_id IS NULL LIMIT %(limit)s) s),
  (SELECT count(*) FROM (SELECT 1 FROM unnest(%(statuses)s::bigint[]) AS wanted(status) CROSS JOIN LATERAL (
     SELECT 1 FROM tickets_ticket t WHERE t.status_id = wanted.status LIMIT %(limit)s) each LIMIT %(limit)s) s)
"""


def is_late(now: datetime) -> Q:
    response = RESPONSE_IS_OWED & Q(response_due_at__lt=now)
    return Q(closed_at=None) & (response | Q(resolution_due_at__lt=now))


class ViewFilter(admin.SimpleListFilter):
    """The views are shown above the list."""

    title = _("view")
    parameter_name = "view"
    template = "admin/tickets/ticket_view_filter.html"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.rows = rows_up_to(request.GET, model_admin.list_per_page)
        self.is_narrowed = any(request.GET.get(name) for name in request.GET if name.startswith(NARROWING))

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return VIEWS.items()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Ticket]) -> QuerySet[Ticket]:
        match self.value():
            case "mine":
                agent = Agent.objects.of_user(request.user)  # type: ignore[arg-type]
                return queryset.filter(agent=agent, closed_at=None) if agent else queryset.none()
            case "unassigned":
                return queryset.filter(agent=None, closed_at=None)
            case "waiting" if self.is_narrowed:
                return queryset.filter(status__kind__in=OURS)
            case "waiting":
                return queryset.filter(pk__in=ticket_search.waiting_for_us(self.rows))
            case "late":
                now = timezone.now()
                due_at = Least(Case(When(RESPONSE_IS_OWED, then=F("response_due_at"))), "resolution_due_at")
                # A search is applied after this, and finds few.
                is_searched = bool(request.GET.get("q"))
                wanted = is_late(now) if is_searched else Q(pk__in=ticket_search.late(queryset, self.rows, now))
                return queryset.filter(wanted).annotate(due_at=due_at)
        return queryset


class TagsFilter(TextFilter):
    """Those that have all of these tags."""

    title = _("tags")
    parameter_name = "tags"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Ticket]) -> QuerySet[Ticket]:
        tags = tags_of((self.value() or "").replace("\0", ""))
        # The index is of those that have any.
        return queryset.filter(tags__contains=tags).exclude(tags=[]) if tags else queryset


class OpenedFilter(DatesFilter):
    """Opened from a day to a day."""

    title = _("opened")

    def of_span(self, queryset: QuerySet[Any], since: datetime | None, until: datetime | None) -> QuerySet[Any]:
        """By the index on it."""
        bounds = {"created_at__gte": since, "created_at__lt": until}
        return queryset.filter(**{name: bound for name, bound in bounds.items() if bound})


class Counted(PeriodFilter):
    ways = {"closed": _("closed by an agent"), "replied": _("an agent replied")}

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        if way == "closed":
            return Q(closed_by=arguments[0]) & within("closed_at", spans)
        replies = Message.objects.filter(within("created_at", spans), type=Message.Type.REPLY, agent=arguments[0])
        return Q(pk__in=replies.values("ticket"))


class TicketChangeList(UncountedChangeList):
    """By the last change, as the indexes are; those that are late by how long they are."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        if request.GET.get("view") == LATE:
            return ["due_at", "pk"]
        if any(request.GET.get(f"date_{end}") for end in ("from", "to")):
            return ["-created_at", "-pk"]
        return ["-updated_at", "-pk"]


@admin.register(Ticket)
class TicketAdmin(DeletableMixin, TicketBulkActions, TicketActions, TicketOpening, TicketPage, UncountedMixin, Admin):
    """What do customers want, and who sees to it?"""

    deletion_kind = "ticket"
    list_display = ("number", "title", "state", "due", "agent_and_queue", "changed")
    list_display_links = ("number", "title")
    # The view last: it looks among what the others leave.
    list_filter = (
        ("queue", MultipleRelatedDropdownFilter),
        ("status", RelatedDropdownFilter),
        ("agent", AutocompleteSelectFilter),
        ("customer", AutocompleteSelectFilter),
        ("category", RelatedDropdownFilter),
        ("source", ChoicesDropdownFilter),
        TagsFilter,
        OpenedFilter,
        Counted,
        ViewFilter,
    )
    list_select_related = ("status", "substatus", "queue", "agent", "customer")
    list_before_template = "admin/tickets/ticket_views.html"
    search_fields = ("id",)
    search_help_text = _("Number, e-mail, phone, name, custom field, words of the subject")
    sentences = {
        ErrorCode.EMPTY: _("This field cannot be empty."),
        ErrorCode.NOT_NUMBER: _("This is no number."),
        ErrorCode.NOT_DATE: _("A date is written YYYY-MM-DD."),
    }
    fault_fields = {
        "comment": "body",
        "body_type": "body",
        "attachments": "attached",
        "recipients": "to",
        "copies": "cc",
        "status_id": "then",
        "substatus_id": "then",
    }

    class Media:
        css = {"all": ("callcentre/jodit/jodit.min.css", "callcentre/editor.css", "tickets/ticket.css")}
        js = ("callcentre/jodit/jodit.min.js", "callcentre/editor.js", "tickets/ticket.js")

    # The list

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UncountedChangeList]:
        return TicketChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Ticket], search_term: str
    ) -> tuple[QuerySet[Ticket], bool]:
        if search_term.strip():
            queryset = queryset.filter(pk__in=ticket_search.ids_found(search_term))
        return queryset, False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        extra = {**(extra_context or {}), **({"views": views_of(request)} if request.method == "GET" else {})}
        return super().changelist_view(request, extra)

    @display(description=_("number"))
    def number(self, ticket: Ticket) -> str:
        return f"#{ticket.pk}"

    @display(description=_("subject and customer"))
    def title(self, ticket: Ticket) -> str:
        way = ticket.get_source_display()
        return format_html(
            '<span class="tk-cell">'
            '<span class="tk-way material-symbols-outlined" title="{}" role="img" aria-label="{}">{}</span>'
            '<span class="tk-title" title="{}" dir="auto">{}</span>'
            '<span class="tk-below"><bdi class="tk-who">{}</bdi>{}</span></span>',
            way,
            way,
            ICONS.get(ticket.source, "confirmation_number"),
            ticket.subject,
            ticket.subject,
            str(ticket.customer or ticket.sender_name or ticket.sender or "–"),
            format_html_join("", '<span class="tk-label">{}</span>', ([tag] for tag in ticket.tags[:3])),
        )

    @display(description=_("status"))
    def state(self, ticket: Ticket) -> str:
        label = format_html(
            '<span class="cc-state cc-{}">{}</span>', STATUS_COLOURS.get(ticket.status.kind, "info"), ticket.status
        )
        return _two_lines(label, ticket.substatus.name if ticket.substatus else "")

    @display(description=_("due"))
    def due(self, ticket: Ticket) -> str:
        """The nearest of what is owed."""
        dues = sorted(dues_of(ticket), key=lambda due: due.at)
        if not dues:
            return "–"
        due = dues[0]
        return format_html(
            '<span class="cc-state cc-{}" title="{}: {}">{}</span>',
            due.colour,
            due.label,
            localize(timezone.localtime(due.at)),
            due.distance,
        )

    @display(description=_("agent and queue"))
    def agent_and_queue(self, ticket: Ticket) -> str:
        agent = (ticket.agent.full_name or ticket.agent.login) if ticket.agent else "–"
        return _two_lines(agent, ticket.queue.name)

    @display(description=_("changed"))
    def changed(self, ticket: Ticket) -> str:
        return format_html('<span class="whitespace-nowrap">{}</span>', localize(timezone.localtime(ticket.updated_at)))


def _two_lines(first: str, second: str) -> str:
    """The second one smaller; what is too long for its place is whole under the mouse."""
    below = format_html('<span class="tk-who" title="{}">{}</span>', second, second) if second else ""
    return format_html('<span class="tk-two"><span class="tk-cut">{}</span>{}</span>', first, below)


def views_of(request: HttpRequest) -> list[dict[str, Any]]:
    """The views above the list, each with how many there are, as far as that is quickly known."""
    agent = Agent.objects.of_user(request.user)  # type: ignore[arg-type]
    statuses = TicketStatus.objects.filter(kind__in=OURS).order_by().values_list("pk", flat=True)
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, {"agent": agent.pk if agent else -1, "statuses": list(statuses), "limit": COUNTED + 1})
        mine, unassigned, waiting = cursor.fetchone()
    late = len(ticket_search.late(Ticket.objects.all(), COUNTED + 1, timezone.now()))
    counts = {MINE: mine, UNASSIGNED: unassigned, WAITING: waiting, LATE: late}
    chosen = request.GET.get("view", "")
    views: list[dict[str, Any]] = [{"query": "?", "name": _("All tickets"), "is_chosen": not chosen}]
    for name, label in VIEWS.items():
        count = counts[name]
        if name != MINE or agent:
            said = f"{COUNTED}+" if count > COUNTED else str(count)
            views.append(
                {
                    "query": f"?view={name}",
                    "name": label,
                    "count": said,
                    "is_chosen": chosen == name,
                    "is_late": name == LATE and count,
                }
            )
    return views
