"""Events, their deliveries and the attempts, read-only lists of tables with millions of rows; and resends."""

import json
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter

from callcentre.admin import (
    DatesFilter,
    ReadOnlyAdmin,
    UncountedMixin,
    actor_of,
    column,
    display,
    link_to,
    needs,
    page_action,
    related,
)
from callcentre.admin.lists import ConditionFilter, rows_up_to, takes_all_rows
from callcentre.admin.scope import AutocompleteSelectFilter
from callcentre.core.integers import integer_of
from callcentre.core.times import second
from webhooks.admin.id_ranges import ID, MARGIN, first_event_since, first_id_since, last_event_before, within
from webhooks.models import Attempt, Delivery, Event, Resend
from webhooks.models.delivery import FAILED_ATTEMPT
from webhooks.verbs.webhooks import resend_deliveries

STATES = {Delivery.State.WAITING: "info", Delivery.State.SUCCEEDED: "success", Delivery.State.FAILED: "danger"}
WEBHOOK = "webhook__id__exact"
# Larger than each id.
BEYOND = 2**63 - 1
# Events of one subject whose deliveries a search finds.
MOST_OF_SUBJECT = 500


def events_found(term: str) -> QuerySet[Event]:
    """Return the events with this event id, sequence or subject."""
    term = term.strip()
    try:
        return Event.objects.filter(event_id=UUID(term))
    except ValueError:
        pass
    if (pk := integer_of(term)) is not None:
        return Event.objects.filter(pk=pk)
    return Event.objects.filter(subject=term.replace("\0", ""))


def ids_found(term: str) -> list[int]:
    return list(events_found(term).order_by("-id").values_list("pk", flat=True)[:MOST_OF_SUBJECT])


class EventLogAdmin(UncountedMixin, ReadOnlyAdmin):
    has_own_history = True  # read-only: Django's history would be empty
    search_fields = ("id",)
    search_help_text = _("Event id, sequence or subject, such as record:1204")

    webhook_name = column(lambda row: str(related(row, "webhook") or ""), description=_("webhook"))

    @display(description=_("webhook"))
    def webhook_link(self, row: Delivery | Attempt) -> str:
        webhook = related(row, "webhook")
        return link_to(webhook) if webhook else ""


class EventDates(DatesFilter):
    def of_span(self, queryset: QuerySet[Any], since: Any, until: Any) -> QuerySet[Any]:
        if since:
            queryset = queryset.filter(pk__gte=first_event_since(since) or BEYOND, created_at__gte=since)
        if until:
            queryset = queryset.filter(pk__lte=last_event_before(until) or 0, created_at__lt=until)
        return queryset


@admin.register(Event)
class EventAdmin(EventLogAdmin):
    """Events, and their deliveries."""

    list_display = ("date", "action_name", "subject", "event_id", "id")
    list_display_links = ("date", "event_id")
    list_filter = (("action", ChoicesDropdownFilter), EventDates)
    fields = ("action_name", "subject", "date", "event_id", "id", "body")
    change_form_outer_after_template = "admin/webhooks/deliveries.html"

    date = column(lambda event: second(event.created_at), description=_("date"))

    def found(self, request: HttpRequest, rows: QuerySet[Any], text: str) -> QuerySet[Any]:
        found = events_found(text)
        return rows & found if rows.query.where else found

    @display(description=_("action"))
    def action_name(self, event: Event) -> str:
        """Return the action as it is, because the choices do not have the one of test events."""
        return event.action

    @display(description=_("what is sent"))
    def body(self, event: Event) -> str:
        return format_html(
            '<pre class="cc-pre" tabindex="0">{}</pre>', json.dumps(event.message, indent=2, ensure_ascii=False)
        )

    def page_context(self, request: HttpRequest, obj: Event | None) -> dict[str, Any]:
        return {"deliveries": list(obj.deliveries.prefetch_related("webhook")[:100]) if obj else []}


class StateFilter(DropdownFilter):
    title = _("state")
    parameter_name = "state"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.per_page = model_admin.list_per_page

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return Delivery.State.choices

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        state = self.value()
        if state not in Delivery.State.values:
            return queryset
        given = request.GET
        is_narrowed = any(given.get(name) for name in ("q", "date_from", "date_to"))
        if state != Delivery.State.WAITING or is_narrowed or takes_all_rows(request):
            return queryset.filter(state=state)
        waiting = Delivery.objects.waiting().order_by(ID.desc()).values_list("pk", flat=True)
        if (webhook_id := integer_of(given.get(WEBHOOK))) is not None:
            waiting = waiting.filter(webhook=webhook_id)
        return queryset.filter(pk__in=list(waiting[: rows_up_to(given, self.per_page)]), state=state)


class DeliveryDates(DatesFilter):
    """Filter by the date of the event, through the ids of events.

    A long transaction over midnight can add some deliveries of the other day. An exact join would take seconds if the
    planner began at the wrong table.
    """

    def of_span(self, queryset: QuerySet[Any], since: Any, until: Any) -> QuerySet[Any]:
        # Deliveries are written with their events, so their ids have the same order.
        if since:
            first = first_event_since(since) or BEYOND
            low = first_id_since(Delivery, "event_id", first) - MARGIN
            queryset = queryset.filter(pk__gte=low, event_id__gte=first)
        if until:
            last = last_event_before(until) or 0
            high = first_id_since(Delivery, "event_id", last) + MARGIN
            queryset = queryset.filter(pk__lte=high, event_id__lte=last)
        return queryset


@admin.register(Delivery)
class DeliveryAdmin(EventLogAdmin):
    """Deliveries: waiting ones, failed ones, and an action that sends them again."""

    list_display = ("date", "action", "subject", "webhook_name", "outcome", "attempt_count", "then")
    list_display_links = ("date",)
    list_filter = (("webhook", AutocompleteSelectFilter), StateFilter, DeliveryDates)
    actions = ("resend_selected",)
    actions_detail = ("resend",)
    has_resend_permission = needs("webhooks.change_webhook")
    prefetched = ("event", "webhook")
    fields = ("event_link", "subject", "webhook_link", "state", "attempt_count", "next_attempt", "finished")
    change_form_outer_after_template = "admin/webhooks/attempts.html"

    action = column(lambda delivery: getattr(related(delivery, "event"), "action", ""), description=_("action"))
    subject = column(lambda delivery: getattr(related(delivery, "event"), "subject", ""), description=_("subject"))
    next_attempt = column(lambda delivery: second(delivery.next_attempt_at), description=_("next attempt"))
    finished = column(lambda delivery: second(delivery.finished_at), description=_("finished"))

    def found(self, request: HttpRequest, rows: QuerySet[Any], text: str) -> QuerySet[Any]:
        return rows.filter(event_id__in=ids_found(text))

    @display(description=_("date"))
    def date(self, delivery: Delivery) -> str:
        event = related(delivery, "event")
        return second(event.created_at) if event else f"({delivery.event_id})"

    @display(description=_("event"))
    def event_link(self, delivery: Delivery) -> str:
        event = related(delivery, "event")
        return link_to(event, f"{event.action} {event.event_id}") if event else ""

    @display(description=_("state"), label={state.value: colour for state, colour in STATES.items()})
    def outcome(self, delivery: Delivery) -> tuple[str, str]:
        return delivery.state, str(delivery.get_state_display())

    @display(description=_("next attempt or end"))
    def then(self, delivery: Delivery) -> str:
        return second(delivery.next_attempt_at or delivery.finished_at)

    def page_context(self, request: HttpRequest, obj: Delivery | None) -> dict[str, Any]:
        return {"attempts": list(obj.attempts.order_by("-id")[:50]) if obj else []}

    # Sending again

    @admin.action(description=_("Send again"), permissions=["resend"])
    def resend_selected(self, request: HttpRequest, deliveries: QuerySet[Delivery]) -> None:
        chosen = list(deliveries.order_by().values_list("pk", flat=True)[: self.list_per_page])
        self._resend(request, chosen)

    @page_action(description=_("Send again"), url_path="resend", icon="replay", permissions=["resend"])
    def resend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        delivery = self.row_or_404(request, object_id, "resend")
        return self.ask_and_do(
            request,
            delivery,
            lambda: self._resend(request, [delivery.pk]),
            title=_now("Send again"),
            intro=_now("At once, with all attempts before it. The receiver sees the same webhook-id."),
        )

    def _resend(self, request: HttpRequest, ids: list[int]) -> None:
        count = resend_deliveries(Delivery.objects.filter(pk__in=ids), actor_of(request))
        if count:
            sentence = ngettext("%(count)s delivery is sent again.", "%(count)s deliveries are sent again.", count)
            self.say_done(request, sentence, count)
        if left := len(ids) - count:
            sentence = ngettext(
                "%(count)s delivery is about to be sent anyway, or its webhook was removed.",
                "%(count)s deliveries are about to be sent anyway, or their webhook was removed.",
                left,
            )
            self.message_user(request, sentence % {"count": left}, messages.WARNING)


class OutcomeFilter(ConditionFilter):
    title = _("outcome")
    parameter_name = "outcome"
    conditions = {
        "succeeded": (_("succeeded"), Q(status__gte=200, status__lt=300)),
        "failed": (_("failed"), FAILED_ATTEMPT),
    }


class AttemptDates(DatesFilter):
    """Filter by ids, because the start has no index."""

    def of_span(self, queryset: QuerySet[Any], since: Any, until: Any) -> QuerySet[Any]:
        return within(queryset, "started_at", since, until)


@admin.register(Attempt)
class AttemptAdmin(EventLogAdmin):
    """Requests to receivers, with their outcome and duration."""

    list_display = ("time", "webhook_name", "event_name", "outcome", "milliseconds")
    list_display_links = ("time",)
    list_filter = (("webhook", AutocompleteSelectFilter), OutcomeFilter, AttemptDates)
    prefetched = ("webhook", "delivery__event")
    fields = ("time", "delivery_link", "webhook_link", "came_back", "milliseconds", "answer_shown")

    time = column(lambda attempt: second(attempt.started_at), description=_("time"))
    came_back = column(lambda attempt: attempt.came_back, description=_("what came back"))

    def found(self, request: HttpRequest, rows: QuerySet[Any], text: str) -> QuerySet[Any]:
        deliveries = Delivery.objects.filter(event_id__in=ids_found(text)).order_by()
        return rows.filter(delivery_id__in=list(deliveries.values_list("pk", flat=True)))

    @display(description=_("event"))
    def event_name(self, attempt: Attempt) -> str:
        return str(related(related(attempt, "delivery"), "event") or "")

    @display(description=_("outcome"), label={"yes": "success", "no": "danger"})
    def outcome(self, attempt: Attempt) -> tuple[str, str]:
        return "yes" if attempt.is_success else "no", str(attempt.status or attempt.error)

    @display(description=_("delivery"))
    def delivery_link(self, attempt: Attempt) -> str:
        delivery = related(attempt, "delivery")
        return link_to(delivery, self.event_name(attempt) or delivery.pk) if delivery else ""

    @display(description=_("first 2 kB of the answer"))
    def answer_shown(self, attempt: Attempt) -> str:
        return format_html('<pre class="cc-pre" tabindex="0">{}</pre>', attempt.answer) if attempt.answer else ""


COLOURS = {Resend.State.QUEUED: "info", Resend.State.RUNNING: "warning", Resend.State.FINISHED: "success"}


@admin.register(Resend)
class ResendAdmin(ReadOnlyAdmin):
    """Resends and their progress."""

    list_display = ("created_at", "webhook", "since", "progress", "done_count", "actor_name")
    list_display_links = ("created_at",)
    list_select_related = ("webhook",)
    sortable_by = ()
    has_own_history = True  # read-only: Django's history would be empty
    fields = (
        "webhook_link",
        "since",
        "includes_waiting",
        "state",
        "done_count",
        "total_count",
        "actor_name",
        "created_at",
        "finished_at",
    )
    change_form_outer_before_template = "admin/webhooks/resend.html"
    webhook_link = column(lambda resend: link_to(resend.webhook), description=_("webhook"))

    class Media:
        js = ("callcentre/live.js",)

    @display(description=_("state"), label={state.value: colour for state, colour in COLOURS.items()})
    def progress(self, resend: Resend) -> tuple[str, str]:
        label = str(resend.get_state_display())
        return resend.state, f"{label} {resend.percent} %" if resend.state == Resend.State.RUNNING else label

    def page_context(self, request: HttpRequest, obj: Any | None) -> dict[str, Any]:
        return {"deliveries_url": reverse("admin:webhooks_delivery_changelist")}
