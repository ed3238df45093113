"""A list of the admin for a worker: the rows and columns that a person would see, on all pages."""

from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.urls import resolve, reverse
from django.utils.translation import gettext_lazy as _

from callcentre.core.exporting.builds import Refused
from callcentre.lists.runs import WorkerRun
from callcentre.models import User
from callcentre.signin.enforcement import must_set_up

# The attribute of a request whose search stopped at so many rows.
SEARCH_LIMIT = "search_limit"


class WorkerRequest(HttpRequest):
    """The request of a person for whom a worker works. Filters of lists take all rows for it, not those of a page."""

    takes_all_rows = True

    def __init__(
        self, user: User, address: str, query: str, form: str = "", facts: dict[str, Any] | None = None
    ) -> None:
        super().__init__()
        self.user = self.person = user
        self.method = "POST" if form else "GET"
        self.path = self.path_info = address
        self.META = {"QUERY_STRING": query, "SERVER_NAME": "localhost", "SERVER_PORT": "80"}
        self.resolver_match = resolve(address)
        self.GET = QueryDict(query)
        self.POST = QueryDict(form)
        self.session: Any = {}
        self.run = WorkerRun(facts or {})


class _RowsOnly:
    """A list whose page is not read."""

    def get_results(self, request: HttpRequest) -> None:
        self.result_list: list[Any] = []
        self.result_count = self.full_result_count = 0
        self.can_show_all = self.multi_page = False


class Listed:
    """A list with its filters, search, order and columns, as one person sees it. Raises Refused."""

    def __init__(self, request: WorkerRequest, list_name: str) -> None:
        self.request, self.person = request, request.person
        self.admin: Any = admin.site._registry.get(apps.get_model(list_name))
        if self.admin is None or not self.admin.has_view_or_change_permission(request):
            raise Refused(_("You may not see this list any more."))
        shown: Any = self.admin
        self.columns: list[str] = shown.columns_with_box(request)
        list_class = type("Rows", (_RowsOnly, shown.get_changelist(request)), {})
        try:
            self._list = list_class(
                request,
                shown.model,
                self.columns,
                shown.get_list_display_links(request, shown.get_list_display(request)),
                shown.get_list_filter(request),
                shown.date_hierarchy,
                shown.get_search_fields(request),
                shown.get_list_select_related(request),
                shown.list_per_page,
                shown.list_max_show_all,
                shown.list_editable,
                shown,
                shown.get_sortable_by(request),
                shown.search_help_text,
            )
        except (IncorrectLookupParameters, DisallowedModelAdminLookup) as error:
            raise Refused(_("A filter of the list makes no sense any more.")) from error

    @property
    def rows(self) -> "QuerySet[Any]":
        rows: QuerySet[Any] = self._list.queryset
        return rows

    @property
    def search_limit(self) -> int | None:
        """The number of rows at which the search stopped; None if it found all."""
        return vars(self.request).get(SEARCH_LIMIT)

    def complete(self, rows: Iterable[Any]) -> None:
        """Add to the rows what their cells show and their query does not read."""
        self.admin.complete_rows([*rows])


def without_search(query: str) -> str:
    """Return the address of the list without the words that were searched for."""
    kept = QueryDict(query, mutable=True)
    kept.pop(SEARCH_VAR, None)
    return kept.urlencode()


def address_of(list_name: str) -> str:
    return reverse(f"admin:{list_name.replace('.', '_').lower()}_changelist")


def person(user_id: int) -> User:
    """Return the person for whom a worker works. Raise Refused if they may not log in any more."""
    user = User.objects.filter(pk=user_id, is_active=True, is_staff=True).first()
    if user is None:
        raise Refused(_("The person who asked may not log in any more."))
    if must_set_up(user):
        raise Refused(_("The person who asked needs a second factor and has none."))
    return user
