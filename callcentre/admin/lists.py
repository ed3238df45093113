"""The lists of the admin: the look-ups that an address may use, and lists that are too long to count."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR
from django.db import models
from django.http import HttpRequest
from django.utils.formats import localize
from unfold.contrib.filters.admin import DropdownFilter
from unfold.views import ChangeList as ThemeChangeList

from callcentre.admin.dates import DATES
from callcentre.admin.theme import ModelAdmin
from callcentre.core.integers import integer_of
from callcentre.core.search import text_of_list
from callcentre.lists.counts import MOST_COUNTED, count_up_to
from callcentre.lists.saved_views import SAVED, WHOLE_LIST

# The parameter of an address with the columns that a person chose, with commas between them.
COLUMNS = "cols"


class ChangeList(ThemeChangeList):
    """A list that takes its own filters only.

    Django also filters by any field with any look-up: `?password__startswith=` lets a person who may only look at the
    list read a hash letter by letter.
    """

    def get_filters_params(self, params: Any = None) -> Any:
        left: Any = super().get_filters_params(params)
        for name in (COLUMNS, SAVED):
            left.pop(name, None)
        return left

    def get_filters(self, request: HttpRequest) -> Any:
        """Return the filters of the list. Refuse look-ups that no filter takes."""
        filters, has_filters, left, may_have_duplicates, has_active_filters = super().get_filters(request)
        if left:
            raise DisallowedModelAdminLookup(f"{self.opts.label} has no filter for {', '.join(left)}")
        return filters, has_filters, left, may_have_duplicates, has_active_filters

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Return an address of the list. The bare one would lead to the view with which the list opens."""
        query = str(super().get_query_string(new_params, remove))
        return self.whole_list if query == "?" else query

    query: str
    is_dataset = False
    # The address of all rows.
    whole_list = WHOLE_LIST
    # Whether rows match that the page does not show, and how many match, if that is known.
    has_other_rows = False
    known_count = ""

    @property
    def search_limit(self) -> int | None:
        """The number of rows at which the search stopped; None if it found all."""
        return vars(self.request).get("search_limit")

    def get_queryset(self, request: HttpRequest, *rest: Any, **more: Any) -> models.QuerySet[Any]:
        self.request, self.query = request, text_of_list(self.query)
        self.root_queryset = self.model_admin.for_list(self.model_admin.get_queryset(request))
        if order := self.params.get(ORDER_VAR):
            self.params[ORDER_VAR] = _order_with(
                order, {name: str(place) for place, name in enumerate(self.list_display)}
            )
        rows: models.QuerySet[Any] = super().get_queryset(request, *rest, **more)
        return rows

    def get_results(self, request: HttpRequest) -> None:
        if takes_all_rows(request):
            return  # the caller reads them
        super().get_results(request)
        self.has_other_rows = self.result_count > len(self.result_list)
        self.known_count = localize(self.result_count)
        self.model_admin.complete_rows(self.result_list)


def order_by_names(order: str, columns: Sequence[str]) -> str:
    """Return the order of an address, as "-2.1", with the names of its columns."""
    names = {str(place): name for place, name in enumerate(columns)}
    return _order_with(order, names)


def _order_with(order: str, others: Mapping[str, str]) -> str:
    parts = [part.rpartition("-") for part in order.split(".")]
    return ".".join(f"{minus}{others.get(column, column)}" for _before, minus, column in parts)


class UncountedChangeList(ChangeList):
    """A list that is too long to count. It shows whether there is a next page, and no total."""

    # People search for rows beyond this page: to skip rows takes as long as to read them.
    last_page = 200
    # An order was asked for, but too many rows match.
    is_unsorted = False

    def get_ordering(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> list[str]:
        """Return the newest rows first, by an index: other orders would sort the whole table."""
        if newest_by := getattr(self.model_admin, "newest_by", ""):
            return [f"-{newest_by}", "-pk"]
        column = getattr(self.model_admin, "date_column", "")
        if column and any(request.GET.get(name) for name in DATES):
            return [f"-{column}", "-pk"]  # by the index that finds the days
        return ["-pk"]

    def get_queryset(self, request: HttpRequest, *rest: Any, **more: Any) -> models.QuerySet[Any]:
        """Return the rows in the order of a column, if few enough match; else in the list's own order."""
        rows: models.QuerySet[Any] = super().get_queryset(request, *rest, **more)
        if not self.params.get(ORDER_VAR):
            return rows
        count = count_up_to(rows)
        self.is_unsorted = count is None or count > MOST_COUNTED
        return rows if self.is_unsorted else rows.order_by(*ThemeChangeList.get_ordering(self, request, rows))

    def get_results(self, request: HttpRequest) -> None:
        if takes_all_rows(request):
            return
        per_page = self.list_per_page
        if not 1 <= self.page_num <= self.last_page:
            raise IncorrectLookupParameters
        start = (self.page_num - 1) * per_page
        rows = list(self.queryset[start : start + per_page + 1])
        self.has_more = len(rows) > per_page
        self.has_other_rows = self.has_more or self.page_num > 1
        self.count_url = self.model_admin.url_with_query(request, "list_count")
        self.is_cut_off = self.has_more and self.page_num == self.last_page
        self.result_list = rows[:per_page]
        self.model_admin.complete_rows(self.result_list)
        self.first_row, self.last_row = start + 1, start + len(self.result_list)
        self.result_count = self.last_row
        self.full_result_count = self.last_row  # the template shows no total
        self.can_show_all = False
        self.multi_page = True
        self.paginator = self.model_admin.get_paginator(request, self.result_list, per_page)
        self.paginator.template_name = "admin/uncounted_pagination.html"


def rows_up_to(given: Mapping[str, Any], per_page: int) -> int:
    """Return the number of rows up to the end of the requested page, and one more to see if there is a next one."""
    page = integer_of(given.get("p")) or 1
    return (page if page < 1000 else 1) * per_page + 1


def takes_all_rows(request: HttpRequest) -> bool:
    """Return whether all rows of a list are read, not those of a page: quick ways to its first rows do not serve."""
    return getattr(request, "takes_all_rows", False)


class ConditionFilter(DropdownFilter):
    """A filter whose choices are named conditions."""

    # Value in the address -> label, condition.
    conditions: ClassVar[Mapping[str, tuple[Any, models.Q]]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(value, label) for value, (label, _condition) in self.conditions.items()]

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        _label, condition = self.conditions.get(self.value() or "", ("", models.Q()))
        return queryset.filter(condition)


class UncountedMixin(ModelAdmin):
    """An admin of a table with millions of rows."""

    show_full_result_count = False
    # The column of time whose index has the order of the list; "" for the order of the keys.
    newest_by = ""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return UncountedChangeList
