"""Dates in the admin: a filter of a list by day, and instants in forms."""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDateWidget

# The parameters of an address that filter a list from a day to a day.
DATES = ("date_from", "date_to")


class MinuteField(forms.SplitDateTimeField):
    """An instant shown and typed to the minute. The seconds of the stored instant are no change."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        if isinstance(initial, datetime):
            initial = initial.replace(second=0, microsecond=0)
        return super().has_changed(initial, data)


class DatesForm(forms.Form):
    """From a day to a day, both included."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for end, label in (("from", _("From")), ("to", _("To"))):
            widget = UnfoldAdminDateWidget(attrs={"placeholder": label, "aria-label": label})
            self.fields[f"{name}_{end}"] = forms.DateField(label=label, required=False, widget=widget)


class DatesFilter(admin.SimpleListFilter):
    """A filter from a day to a day, by an indexed `column`, or by the look-ups of `of_span`."""

    title = _("date")
    parameter_name = "date"
    template = "unfold/filters/filters_date_range.html"
    form_class = DatesForm
    column = ""

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.request = request
        for name in self.expected_parameters():
            if name in params:
                value = params.pop(name)
                self.used_parameters[name] = value[-1] if isinstance(value, list) else value

    def has_output(self) -> bool:
        return True

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return ()

    def expected_parameters(self) -> list[str | None]:
        return [f"{self.parameter_name}_from", f"{self.parameter_name}_to"]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        first, last = self._day("from"), self._day("to")
        since = _midnight(first) if first else None
        until = _midnight(last + timedelta(days=1)) if last else None
        return self.of_span(queryset, since, until) if since or until else queryset

    def of_span(self, queryset: QuerySet[Any], since: datetime | None, until: datetime | None) -> QuerySet[Any]:
        """Return the rows from `since` on and before `until`."""
        bounds = {f"{self.column}__gte": since, f"{self.column}__lt": until}
        return queryset.filter(**{name: bound for name, bound in bounds.items() if bound})

    def _day(self, end: str) -> date | None:
        text = self.used_parameters.get(f"{self.parameter_name}_{end}") or ""
        try:
            day = parse_date(text)
        except ValueError:
            return None
        return day if day and date(1971, 1, 1) < day < date(9000, 1, 1) else None

    def choices(self, changelist: Any) -> Any:
        form = self.form_class(self.parameter_name, data=self.used_parameters or None)
        yield {"request": self.request, "parameter_name": self.parameter_name, "form": form}


@cache
def dates_filter(column: str) -> type[DatesFilter]:
    return type("DatesFilter", (DatesFilter,), {"column": column})


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
