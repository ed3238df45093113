"""The lists of the admin: the look-ups that an address may ask for, and lists too long to be counted."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.db import models
from django.http import HttpRequest
from unfold.views import ChangeList as ThemeChangeList

from callcentre.core.integers import integer_of


class ChangeList(ThemeChangeList):
    """A list that is filtered by its own filters only.

    Django also filters by any field of the model with any look-up. With `?password__startswith=` a person who may only
    look at the list reads a hash letter by letter.
    """

    def get_filters(self, request: HttpRequest) -> Any:
        """Return the filters of the list. Refuse each look-up that none of them takes."""
        filters, has_filters, left, may_have_duplicates, has_active_filters = super().get_filters(request)
        if left:
            raise DisallowedModelAdminLookup(f"{self.opts.label} has no filter for {', '.join(left)}")
        return filters, has_filters, left, may_have_duplicates, has_active_filters


class UncountedChangeList(ChangeList):
    """A list too long to be counted: it knows whether there is a next page, and says no more than it knows."""

    # Beyond this page, rows are found by searching: to skip rows takes as long as to read them.
    last_page = 200

    def get_ordering(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> list[str]:
        """Newest first, by the primary key's own index: any other order would sort the whole table."""
        return ["-pk"]

    def get_results(self, request: HttpRequest) -> None:
        per_page = self.list_per_page
        if not 1 <= self.page_num <= self.last_page:
            raise IncorrectLookupParameters
        start = (self.page_num - 1) * per_page
        rows = list(self.queryset[start : start + per_page + 1])
        self.has_more = len(rows) > per_page
        self.is_cut_off = self.has_more and self.page_num == self.last_page
        self.result_list = rows[:per_page]
        self.first_row, self.last_row = start + 1, start + len(self.result_list)
        self.result_count = self.last_row
        self.full_result_count = self.last_row  # nothing is said of a total
        self.can_show_all = False
        self.multi_page = True
        self.paginator = self.model_admin.get_paginator(request, self.result_list, per_page)
        self.paginator.template_name = "admin/uncounted_pagination.html"


def rows_up_to(given: Mapping[str, Any], per_page: int) -> int:
    """Return how many rows a list reads for the page that its address asks for, and to see whether there is another."""
    page = integer_of(given.get("p")) or 1
    return (page if page < 1000 else 1) * per_page + 1


class UncountedMixin:
    """For admins of tables with millions of rows."""

    list_disable_select_all = True
    show_full_result_count = False
    sortable_by: Sequence[str] = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return UncountedChangeList
