"""The form of the report. Its inputs have the API's names, so that its address is the API's question."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from django import forms
from django.db.models import Model
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminDateWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelect2MultipleWidget,
    UnfoldAdminSelectWidget,
)

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.integers import integer_of
from callcentre.core.parsing import query_list
from callcentre.core.scope import Scope
from campaigns.models import Campaign
from reports.description import Report
from reports.models.export import AGGREGATIONS
from reports.parameters import USUAL_AGGREGATION, USUAL_WITHIN, subjects_of
from telephony.models import Agent, AgentGroup, Queue
from tickets.models import TicketQueue


@dataclass(frozen=True)
class Kind:
    models: tuple[type[Model], ...]
    gone: Any

    def by_id(self, ids: Iterable[int]) -> dict[int, str]:
        """Return names by id, in the order of the ids."""
        if not (wanted := list(ids)):
            return {}
        there = {row.pk: str(row) for model in self.models for row in model._default_manager.filter(pk__in=wanted)}
        return {pk: there.get(pk) or str(self.gone) % pk for pk in wanted}

    def names(self, ids: Iterable[int]) -> str:
        return ", ".join(self.by_id(ids).values())

    def choices(self, scope: Scope, chosen: Iterable[int] = ()) -> list[tuple[int, str]]:
        """Return all rows of the scope, active or not, and chosen ones that are gone or outside."""
        there = {row.pk: str(row) for model in self.models for row in scope.within(model._default_manager.all())}
        return [*there.items(), *((pk, str(self.gone) % pk) for pk in chosen if pk not in there)]


AGENTS = Kind((Agent,), _("agent %s (gone)"))
GROUPS = Kind((AgentGroup,), _("group %s (gone)"))
QUEUES = Kind((Queue, TicketQueue), _("queue %s (gone)"))
CAMPAIGNS = Kind((Campaign,), _("campaign %s (gone)"))
# By the field of an export or a schedule.
KINDS = {"agent_ids": AGENTS, "agent_group_ids": GROUPS, "queue_ids": QUEUES, "campaign_ids": CAMPAIGNS}


# Sentences for faults whose own sentence names parameters or their values.
_SENTENCES = {
    ErrorCode.REPORT_ENDS_BEFORE_START: _("The last day cannot be before the first."),
    ErrorCode.NOT_CHOICE: _("This is none of the choices: choose another."),
}
LISTS = ("agent_logins", "agent_group_ids", "queues_ids", "columns")


class _Anything(forms.MultipleChoiceField):
    """A choice of several values that reports.parameters checks, so that faults have the words of the API."""

    def valid_value(self, value: str) -> bool:
        return True


def _several(label: Any, help_text: Any = "") -> forms.Field:
    return _Anything(label=label, required=False, help_text=help_text, widget=UnfoldAdminSelect2MultipleWidget())


class TableForm(forms.Form):
    """The question of a page."""

    date_from = forms.CharField(label=_("From"), required=False, widget=UnfoldAdminDateWidget())
    date_to = forms.CharField(label=_("To, included"), required=False, widget=UnfoldAdminDateWidget())
    aggregate_by = forms.CharField(
        label=_("Period of a row"), required=False, widget=UnfoldAdminSelectWidget(choices=list(AGGREGATIONS.items()))
    )
    answered_within = forms.CharField(
        label=_("Service level: answered within s"),
        required=False,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 0}),
    )
    columns = _Anything(label=_("Columns"), required=False)
    # The inputs beside the span, in the order of the page.
    asked: Sequence[str] = ("aggregate_by", "answered_within")

    def __init__(self, report: Report, params: QueryDict, scope: Scope) -> None:
        self.report = report
        super().__init__(_values_of(params, report))
        if report.subjects:
            name = report.subjects.parameter
            self.fields[name] = _several(report.subject_title, _("None: all of them."))
            rows = subjects_of(report.subjects, scope).values()
            self._offer(name, [(row["id"], f"{row['name']} ({row['id']})") for row in rows])
            self.asked = (name, *self.asked)
        if not report.has_within:
            del self.fields["answered_within"]
            self.asked = [name for name in self.asked if name != "answered_within"]

    @property
    def choice_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.asked]

    def _offer(self, name: str, choices: list[tuple[Any, Any]]) -> None:
        """Set the choices. A chosen value that is gone stays chosen: without it the question would be about all."""
        known = {str(value) for value, _label in choices}
        field: Any = self.fields[name]
        field.choices = [*choices, *((value, value) for value in self.data.get(name, ()) if value not in known)]

    @property
    def chosen(self) -> list[str]:
        names = self["columns"].value()
        return list(names) if names else self.report.usual

    @property
    def groups(self) -> list[tuple[Any, list[tuple[str, Any, bool]]]]:
        """The columns by their groups: name, label, whether it is chosen."""
        chosen = set(self.chosen)
        return [
            (group, [(name, label, name in chosen) for name, label in entries])
            for group, entries in self.report.choices()
        ]

    def show(self, invalid: Invalid) -> None:
        """Show the faults that reports.parameters or a verb found at their inputs."""
        self.full_clean()
        for fault in invalid.faults:
            self.add_error(fault.field if fault.field in self.fields else None, self._sentence(fault))

    def _sentence(self, fault: Fault) -> str:
        """Return the message with the label of the input in place of the parameter's name."""
        if text := _SENTENCES.get(fault.code):
            return str(text)
        field = self.fields.get(fault.field)
        return replace(fault, field=str(field.label)).message if field else fault.message


class ReportForm(TableForm):
    """The question of the page of the agents work report."""

    agent_logins = _several(_("Agents"), _("None and no group: all of them."))
    agent_group_ids = _several(_("Agent groups"))
    queues_ids = _several(_("Queues"), _("Of calls, chats and tickets; logins and pauses stay whole."))
    outbound_threshold = forms.CharField(
        label=_("Threshold of outbound calls in s"),
        required=False,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 0}),
    )
    asked = ("agent_logins", "agent_group_ids", "queues_ids", "aggregate_by", "outbound_threshold", "answered_within")

    def __init__(self, report: Report, params: QueryDict, scope: Scope) -> None:
        super().__init__(report, params, scope)
        agents = [(agent.login, str(agent)) for agent in scope.within(Agent.objects.order_by("login"))]
        self._offer("agent_logins", agents)
        for name, kind in (("agent_group_ids", GROUPS), ("queues_ids", QUEUES)):
            chosen = [value for value in map(integer_of, self.data.get(name, ())) if value is not None]
            self._offer(name, kind.choices(scope, chosen))


def form_of(report: Report, params: QueryDict, scope: Scope) -> TableForm:
    return (TableForm if report.subjects else ReportForm)(report, params, scope)


def _values_of(params: QueryDict, report: Report) -> dict[str, Any]:
    """Return the parameters as the form has them, from any spelling of a list."""
    lists = LISTS if report.subjects is None else (report.subjects.parameter, "columns")
    values: dict[str, Any] = {name: params.get(name, "") for name in ReportForm.base_fields}
    values |= {name: query_list(params, name) for name in lists}
    values["aggregate_by"] = values["aggregate_by"].strip()
    if values["aggregate_by"] not in AGGREGATIONS:
        # An unknown one is refused; the first of the choices would look as if it had been chosen.
        values["aggregate_by"] = USUAL_AGGREGATION.value
    values["outbound_threshold"] = values["outbound_threshold"] or "0"
    values["answered_within"] = values["answered_within"] or str(USUAL_WITHIN)
    return values


def ranges() -> Iterator[tuple[Any, date, date]]:
    """Yield common spans: their name, their first day and their last."""
    today = timezone.localdate()
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    last_of_month = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    day = timedelta(days=1)
    yield _("Today"), today, today
    yield _("Yesterday"), today - day, today - day
    yield _("This week"), monday, monday + 6 * day
    yield _("Last week"), monday - 7 * day, monday - day
    yield _("This month"), first, last_of_month
    yield _("Last month"), (first - day).replace(day=1), first - day
