"""The form of the report. Its inputs have the API's names, so that its address is the API's question."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from django import forms
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
from reports.admin.naming import GROUPS, QUEUES
from reports.measures import MEASURES, REASONS, USUAL
from reports.models.export import AGGREGATIONS
from reports.parameters import USUAL_AGGREGATION, USUAL_WITHIN
from telephony.models import Agent

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


class AskingForm(forms.Form):
    """The question without its span."""

    agent_logins = _several(_("Agents"), _("None and no group: all of them."))
    agent_group_ids = _several(_("Agent groups"))
    queues_ids = _several(_("Queues"), _("Of calls, chats and tickets; logins and pauses stay whole."))
    aggregate_by = forms.CharField(
        label=_("Period of a row"), required=False, widget=UnfoldAdminSelectWidget(choices=list(AGGREGATIONS.items()))
    )
    outbound_threshold = forms.CharField(
        label=_("Threshold of outbound calls in s"),
        required=False,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 0}),
    )
    answered_within = forms.CharField(
        label=_("Service level: answered within s"),
        required=False,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 0}),
    )
    columns = _Anything(label=_("Columns"), required=False)

    def __init__(self, *args: Any, scope: Scope, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        agents = [(agent.login, str(agent)) for agent in scope.within(Agent.objects.order_by("login"))]
        self._offer("agent_logins", agents)
        for name, kind in (("agent_group_ids", GROUPS), ("queues_ids", QUEUES)):
            chosen = [value for value in map(integer_of, self.data.get(name, ())) if value is not None]
            self._offer(name, kind.choices(scope, chosen))

    def _offer(self, name: str, choices: list[tuple[Any, str]]) -> None:
        """Set the choices. A chosen value that is gone stays chosen: without it the question would be about all."""
        known = {str(value) for value, _label in choices}
        field: Any = self.fields[name]
        field.choices = [*choices, *((value, value) for value in self.data.get(name, ()) if value not in known)]

    @property
    def chosen(self) -> list[str]:
        names = self["columns"].value()
        return list(names) if names else USUAL

    @property
    def groups(self) -> list[tuple[Any, list[tuple[str, Any, bool]]]]:
        """The columns by their groups: name, label, whether it is chosen."""
        chosen, groups = set(self.chosen), dict[str, tuple[Any, list[tuple[str, Any, bool]]]]()
        for column in MEASURES:
            entries = groups.setdefault(str(column.group), (column.group, []))[1]
            entries.append((column.name, column.label, column.name in chosen))
            if column.name == "pauses.all.average":
                entries.append((REASONS, _("each reason"), REASONS in chosen))
        return list(groups.values())

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


class ReportForm(AskingForm):
    """The question of the page."""

    date_from = forms.CharField(label=_("From"), required=False, widget=UnfoldAdminDateWidget())
    date_to = forms.CharField(label=_("To, included"), required=False, widget=UnfoldAdminDateWidget())


def values_of(params: QueryDict) -> dict[str, Any]:
    """Return the parameters as the form has them, from any spelling of a list."""
    values: dict[str, Any] = {name: params.get(name, "") for name in ReportForm.base_fields}
    values |= {name: query_list(params, name) for name in LISTS}
    values["aggregate_by"] = values["aggregate_by"].strip()
    if values["aggregate_by"] not in AGGREGATIONS:
        # An unknown one is refused; the first of the choices would look as if it had been chosen.
        values["aggregate_by"] = USUAL_AGGREGATION.value
    values["outbound_threshold"] = values["outbound_threshold"] or "0"
    values["answered_within"] = values["answered_within"] or str(USUAL_WITHIN)
    return values


def ranges(today: date | None = None) -> Iterator[tuple[Any, date, date]]:
    """Yield common spans: their name, their first day and their last."""
    today = today or timezone.localdate()
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    last_of_month = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    day = timedelta(days=1)
    yield _("Today"), today, today
    yield _("Yesterday"), today - day, today - day
    yield _("This week"), monday, monday + 6 * day
    yield _("Last week"), monday - 7 * day, monday - day
    yield _("This month"), first, last_of_month
    yield _("Last month"), (first - day).replace(day=1), first - day
