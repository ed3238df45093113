"""The list of tickets: its views, filters, search and columns."""

from collections.abc import Iterable, Mapping
from functools import partial, reduce
from operator import or_
from types import MappingProxyType
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet, Value
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter, TextFilter

from callcentre.admin import (
    Admin,
    DatesFilter,
    DeletableMixin,
    UncountedChangeList,
    UncountedMixin,
    column,
    display,
    may_see,
    unbroken,
    user_of,
)
from callcentre.admin.base import with_images_from_elsewhere
from callcentre.admin.lists import rows_up_to, takes_all_rows
from callcentre.admin.scope import (
    AutocompleteSelectFilter,
    MultipleRelatedDropdownFilter,
    RelatedDropdownFilter,
    scope_of,
)
from callcentre.core.errors import ErrorCode
from callcentre.core.integers import integer_of
from callcentre.core.scope import within_scope
from callcentre.core.statements import row_of
from callcentre.lists.saved_views import WHOLE_LIST
from telephony.models import Agent
from tickets import due_tickets
from tickets.admin import ticket_search
from tickets.admin.own_tickets import next_view, take_next_view
from tickets.admin.report_filter import Counted
from tickets.admin.ticket_bulk_actions import ACTIONS, assign_selected
from tickets.admin.ticket_page import ICONS, TicketPage
from tickets.admin.ticket_page_composer import draft_view, mentions_view
from tickets.admin.ticket_page_files import file_view
from tickets.admin.ticket_page_forms import AgentField, tags_of
from tickets.admin.ticket_page_presence import presence_view
from tickets.admin.ticket_page_sidebar import dues_of
from tickets.admin.ticket_pages import add_view, connect_view, merge_view, split_view
from tickets.due_tickets import LATE, POSTPONED, SOON_DUE
from tickets.models import Macro, Priority, Rule, ServiceLevel, Ticket
from tickets.models.status import OPEN_KINDS
from tickets.models.ticket import DUE_AT
from tickets.models.vocabulary import checks_of, facts

MINE, UNASSIGNED, WAITING = "mine", "unassigned", "waiting"
VIEWS = {
    MINE: _("Mine"),
    UNASSIGNED: _("Unassigned"),
    WAITING: _("Waiting for us"),
    LATE: _("Overdue"),
    POSTPONED: _("Overdue, postponed"),
    SOON_DUE: _("Due soon"),
}
RELATED = ("queue", "status", "substatus", "category", "type", "team", "agent", "customer__company", "merged_into")
# The parameters that narrow a view. The quick ways to find the first rows of a view serve only without them.
NARROWING = (
    *("queue", "status", "category", "type", "priority", "source", "team", "agent", "customer", "tags"),
    *("meets", "q", "date"),
)
# The highest count of a view that is shown.
COUNTED = 99

# The count of each view, by partial indexes and up to a limit.
_COUNTS = """
SELECT
  (SELECT count(*) FROM (
     SELECT 1 FROM tickets_ticket t WHERE closed_at IS NULL AND agent_id = %(agent)s{inside} LIMIT %(limit)s) s),
  (SELECT count(*) FROM (
     SELECT 1 FROM tickets_ticket t WHERE closed_at IS NULL AND agent_id IS NULL{inside} LIMIT %(limit)s) s),
  (SELECT count(*) FROM (SELECT 1 FROM unnest(%(statuses)s::bigint[]) AS wanted(status) CROSS JOIN LATERAL (
     SELECT 1 FROM tickets_ticket t WHERE t.status_id = wanted.status{inside} LIMIT %(limit)s) each
     LIMIT %(limit)s) s)
"""


class ViewFilter(admin.SimpleListFilter):
    """The filter by view. The page shows the views above the list."""

    title = _("view")
    parameter_name = "view"
    template = "admin/tickets/ticket_view_filter.html"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.rows = rows_up_to(request.GET, model_admin.list_per_page)
        self.takes_all_rows = takes_all_rows(request)
        self.is_narrowed = self.takes_all_rows or any(
            request.GET.get(name) for name in request.GET if name.startswith(NARROWING)
        )

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return VIEWS.items()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Ticket]) -> QuerySet[Ticket]:
        match self.value():
            case "mine":
                agent = Agent.objects.of_user(user_of(request))
                return queryset.filter(agent=agent, closed_at=None) if agent else queryset.none()
            case "unassigned":
                return queryset.filter(agent=None, closed_at=None)
            case "waiting" if self.is_narrowed:
                return queryset.filter(status__kind__in=OPEN_KINDS)
            case "waiting":
                return queryset.filter(pk__in=ticket_search.waiting_for_us(self.rows, user_of(request).scope))
            case str() as view if view in due_tickets.KINDS:
                return _due(queryset, view, self.rows, is_searched=self.takes_all_rows or bool(request.GET.get("q")))
        return queryset


def _due(queryset: QuerySet[Ticket], kind: str, count: int, *, is_searched: bool) -> QuerySet[Ticket]:
    """Return the first overdue tickets, or those that are due soon, with the earlier of their due times."""
    now = timezone.now()
    if is_searched:  # the search is applied after the filters and finds few rows
        is_due = reduce(or_, due_tickets.KINDS[kind](now).values())
        return queryset.filter(is_due, closed_at=None).annotate(due_at=DUE_AT)
    return queryset.filter(pk__in=due_tickets.nearest(queryset, kind, count, now)).annotate(due_at=DUE_AT)


class TagsFilter(TextFilter):
    """A filter for tickets that have all the given tags."""

    title = _("tags")
    parameter_name = "tags"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Ticket]) -> QuerySet[Ticket]:
        tags = tags_of((self.value() or "").replace("\0", ""))
        # The index contains only tickets with tags.
        return queryset.filter(tags__contains=tags).exclude(tags=[]) if tags else queryset


class MeetsFilter(DropdownFilter):
    """A filter for tickets that meet the conditions of a service level, a rule or a macro."""

    title = _("meets the conditions of")
    parameter_name = "meets"
    models: Mapping[str, Any] = MappingProxyType(
        {model.__name__.lower(): model for model in (ServiceLevel, Rule, Macro)}
    )

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        rows = [
            model._default_manager.order_by().annotate(model=Value(name)).values_list("model", "pk", "name")
            for name, model in self.models.items()
            if may_see(user_of(request), "tickets", name)
        ]
        for name, pk, said in rows[0].union(*rows[1:]).order_by("name") if rows else ():
            yield f"{name}-{pk}", f"{capfirst(self.models[name]._meta.verbose_name)}: {said}"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Ticket]) -> QuerySet[Ticket]:
        if not (value := self.value()):
            return queryset
        name, _dash, pk = value.partition("-")
        may = name in self.models and may_see(user_of(request), "tickets", name)
        row = self.models[name].objects.filter(pk=integer_of(pk)).first() if may else None
        checks = checks_of(row.conditions, facts()) if row else None
        return queryset.filter(*(check.sql for check in checks)) if checks is not None else queryset.none()


class OpenedFilter(DatesFilter):
    """A filter by the day of opening."""

    title = _("opened")
    column = "created_at"


class TicketChangeList(UncountedChangeList):
    """The list in the order of the last change, as the indexes have it; overdue tickets in the order of due times."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        if request.GET.get("view") in due_tickets.KINDS:
            return ["due_at", "pk"]
        if any(request.GET.get(f"date_{end}") for end in ("from", "to")):
            return ["-created_at", "-pk"]
        return ["-updated_at", "-pk"]


@admin.register(Ticket)
class TicketAdmin(DeletableMixin, UncountedMixin, Admin):
    """Tickets with their customer, status, due time, agent and queue."""

    deletion_kind = "ticket"
    list_display = ("number", "title", "state", "due", "agent_and_queue", "changed")
    list_display_links = ("number", "title")
    list_further = (
        *("subject", "customer", "sender", "source", "priority", "type", "category", "team", "tags"),
        *("created_at", "closed_at", "id"),
    )
    # The view last: it looks among what the others leave.
    list_filter = (
        ("queue", MultipleRelatedDropdownFilter),
        ("status", RelatedDropdownFilter),
        ("team", RelatedDropdownFilter),
        ("agent", AutocompleteSelectFilter),
        ("customer", AutocompleteSelectFilter),
        ("category", RelatedDropdownFilter),
        ("type", RelatedDropdownFilter),
        ("priority", ChoicesDropdownFilter),
        ("source", ChoicesDropdownFilter),
        TagsFilter,
        MeetsFilter,
        OpenedFilter,
        Counted,
        ViewFilter,
    )
    list_select_related = ("status", "substatus", "queue", "team", "agent", "customer")
    list_before_template = "admin/tickets/ticket_views.html"
    search_fields = ("id",)
    search_help_text = _("Number, e-mail, phone, name, custom field, words of the subject")
    changed = column(lambda ticket: unbroken(localize(timezone.localtime(ticket.updated_at))), description=_("changed"))
    sentences = {
        ErrorCode.EMPTY: _("This field cannot be empty."),
        ErrorCode.NOT_NUMBER: _("This is no number."),
        ErrorCode.NOT_DATE: _("A date is written YYYY-MM-DD."),
    }
    actions = ACTIONS

    class Media:
        css = {"all": ("callcentre/jodit/jodit.min.css", "callcentre/editor.css", "tickets/ticket.css")}
        js = (
            *("callcentre/jodit/jodit.min.js", "callcentre/editor.js", "tickets/canned.js", "tickets/ticket.js"),
            *("tickets/mentions.js", "tickets/ticket_list.js"),
        )

    def get_urls(self) -> list[URLPattern]:
        return [
            self.url_to("file/<str:token>", partial(file_view, self), "file"),
            self.url_to("next/", partial(next_view, self), "next"),
            self.url_to("take-next/", partial(take_next_view, self), "take_next"),
            self.url_to("<int:ticket_id>/presence", partial(presence_view, self), "presence"),
            self.url_to("<int:ticket_id>/mentions", partial(mentions_view, self), "mentions"),
            self.url_to("<int:ticket_id>/draft", partial(draft_view, self), "draft"),
            self.url_to("<int:ticket_id>/merge/", partial(merge_view, self), "merge"),
            self.url_to("<int:ticket_id>/connect/", partial(connect_view, self), "connect"),
            self.url_to("<int:ticket_id>/split/", partial(split_view, self), "split"),
            *super().get_urls(),
        ]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Ticket | None:
        """Return the ticket with what its page shows, without the columns of the list."""
        pk = integer_of(object_id)
        tickets = within_scope(Ticket.objects.select_related(*RELATED), user_of(request))
        return None if pk is None else tickets.filter(pk=pk).first()

    @method_decorator(with_images_from_elsewhere)
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        ticket = self.row_or_404(request, unquote(object_id), "view_or_change")
        return TicketPage(self, request, ticket).answer()

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return add_view(self, request)

    # The list

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UncountedChangeList]:
        return TicketChangeList

    def found(self, request: HttpRequest, rows: QuerySet[Ticket], text: str) -> QuerySet[Ticket]:
        ids, is_cut = ticket_search.find(text, user_of(request).scope)
        return self.rows_found(request, rows, ids, ticket_search.MAX_FOUND, is_cut=is_cut)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        extra = dict(extra_context or {})
        if request.method == "GET":
            agent = Agent.objects.of_user(user_of(request))
            extra["views"] = views_of(request, agent)
            if self.has_change_permission(request):
                extra["may_take"] = agent is not None
                agents = AgentField.choices_for(scope=scope_of(request))[1:]
                chosen = {
                    "action": assign_selected.__name__,
                    "name": "agent",
                    "label": _("Assign to"),
                    "choices": agents,
                }
                extra["quick_choice"] = chosen
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
            format_html_join("", '<span class="tk-label{}">{}</span>', _labels(ticket)),
        )

    @display(description=_("status"))
    def state(self, ticket: Ticket) -> str:
        label = format_html('<span class="cc-state cc-{}">{}</span>', ticket.status.meaning.colour, ticket.status)
        return _two_lines(label, ticket.substatus.name if ticket.substatus else "")

    @display(description=_("due"))
    def due(self, ticket: Ticket) -> str:
        """Return the nearest due time."""
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
        agent = (ticket.agent.full_name or ticket.agent.login) if ticket.agent else ticket.team or "–"
        return _two_lines(str(agent), ticket.queue.name)


def _labels(ticket: Ticket) -> Iterable[tuple[str, Any]]:
    """Return the class and the text of the labels below the subject: a priority above the normal one, and tags."""
    if ticket.priority > Priority.NORMAL:
        yield " tk-urgent", Priority(ticket.priority).label
    yield from (("", tag) for tag in ticket.tags[:3])


def _two_lines(first: str, second: str) -> str:
    """Return a cell with a second, smaller line. The mouse shows its whole text."""
    below = format_html('<span class="tk-who" title="{}">{}</span>', second, second) if second else ""
    return format_html('<span class="tk-two"><span class="tk-cut">{}</span>{}</span>', first, below)


def views_of(request: HttpRequest, agent: Agent | None) -> list[dict[str, Any]]:
    """Return the views above the list with their counts, up to a limit."""
    statuses, scope = ticket_search.waiting_statuses(), user_of(request).scope
    values = {"agent": agent.pk if agent else -1, "statuses": statuses, "limit": COUNTED + 1, **scope.by_column}
    mine, unassigned, waiting = row_of(_COUNTS.format(inside=scope.sql(Ticket, "t")), values)
    counts = {MINE: mine, UNASSIGNED: unassigned, WAITING: waiting}
    counts |= due_tickets.counts(scope.within(Ticket.objects.all()), COUNTED + 1, timezone.now())
    chosen = request.GET.get("view", "")
    views: list[dict[str, Any]] = [{"query": WHOLE_LIST, "name": _("All tickets"), "is_chosen": not chosen}]
    for name, label in VIEWS.items():
        count = counts[name]
        if (name != MINE or agent) and (name != POSTPONED or count or chosen == name):
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
