"""The tools of every list: its count, its export to a file, and actions on all rows that match."""

from collections.abc import Sequence
from typing import Any, cast

from django.contrib import messages
from django.contrib.admin import helpers
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils.formats import localize
from django.utils.translation import gettext as _

from callcentre.admin.dates import dates_filter
from callcentre.admin.list_views import ListViews
from callcentre.core.exporting.builds import Refused
from callcentre.lists.actions import ask_action, changed_by
from callcentre.lists.counts import MOST_COUNTED, count_up_to
from callcentre.lists.exports import RIGHT, ask_export
from callcentre.lists.models import ListExport
from callcentre.lists.runs import ForAll, run_of
from callcentre.models import User

# Fields of the form of an action that name the action and the selected rows.
_OF_THE_BAR = ("csrfmiddlewaretoken", "action", "select_across", "index", helpers.ACTION_CHECKBOX_NAME)


class ListTools(ListViews):
    """The base of admins whose lists are counted, exported, and acted on as a whole."""

    # The indexed time by which the list is filtered from a day to a day; "" if it has a filter of its own, or no time.
    date_column = ""

    def get_urls(self) -> list[URLPattern]:
        return [
            self.url_to("list-export/", self.list_export_view, "list_export"),
            self.url_to("list-count/", self.list_count_view, "list_count"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        tools = {
            "may_export_list": request.user.has_perm(RIGHT),
            "list_export_url": self.url_with_query(request, "list_export"),
            "list_views_url": self.url_with_query(request, "list_views"),
        }
        return super().changelist_view(request, {**tools, **(extra_context or {})})

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Return the filters of the list, with one from a day to a day if the list says by which indexed column."""
        filters = super().get_list_filter(request)
        return [*filters, dates_filter(self.date_column)] if self.date_column else filters

    def found(self, request: HttpRequest, rows: QuerySet[Any], text: str) -> QuerySet[Any] | None:
        """Return the rows that a search finds, or None for the search of the fields by Django."""

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        text = search_term.replace("\0", "").strip()
        found = self.found(request, queryset, text) if text else queryset
        return super().get_search_results(request, queryset, search_term) if found is None else (found, False)

    def for_list(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows with what the list alone needs of its query."""
        return rows

    def rows_found(
        self, request: HttpRequest, rows: QuerySet[Any], ids: Sequence[Any], most: int, *, is_cut: bool
    ) -> QuerySet[Any]:
        """Return the rows that a search found. If it stopped at the most that it finds, the pages say so."""
        if is_cut:
            vars(request)["search_limit"] = most
        return rows.filter(pk__in=ids)

    def complete_rows(self, rows: Sequence[Any]) -> None:
        """Add to the rows of a list what their cells show and its query does not read."""

    def list_export_view(self, request: HttpRequest) -> HttpResponse:
        """Ask for an export of the list with this address, and lead to its progress."""
        if not (request.user.has_perm(RIGHT) and self.has_view_or_change_permission(request)):
            raise PermissionDenied
        if request.method != "POST":
            return redirect(self.url_with_query(request, "changelist"))
        format_ = request.POST.get("format", "")
        format_ = format_ if format_ in ListExport.Format.values else ListExport.Format.CSV
        user, query = cast("User", request.user), request.GET.urlencode()
        try:
            export = ask_export(user, self.opts.label_lower, self._list_title(), query, format_)
        except ValidationError as error:
            self.message_user(request, " ".join(error.messages), messages.ERROR)
            return redirect(self.url_with_query(request, "changelist"))
        return redirect(f"{reverse('admin:lists_listexport_change', args=[export.pk])}#fetch")

    def list_count_view(self, request: HttpRequest) -> JsonResponse:
        """Answer with the number of rows that match, up to a limit; "" where counting takes too long."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        try:
            number = count_up_to(self._listed(request).queryset)
        except Refused:
            number = None
        if number is None:
            return JsonResponse({"text": ""})
        is_more = number > MOST_COUNTED
        text = _("more than %(count)s") % {"count": localize(MOST_COUNTED)} if is_more else localize(number)
        return JsonResponse({"text": text})

    # Actions on all rows that match

    def act_on_all(self, request: HttpRequest) -> HttpResponseBase | None:
        """Show the page of an action for all rows that match, or ask a worker for the action once its form is valid."""
        name = request.POST.get("action", "")
        action, _name, title = self.get_actions(request).get(name) or (None, "", "")
        if action is None:
            return None
        if getattr(action, "is_together", False):
            self.message_user(request, _("This action takes selected rows only."), messages.WARNING)
            return None
        try:
            listed = self._listed(request)
        except Refused as refusal:
            self.message_user(request, str(refusal.args[0]), messages.WARNING)
            return None
        rows, changed = listed.queryset, changed_by(action)
        changing = count_up_to(rows.filter(**changed)) if changed else None
        for_all = ForAll(rows, count_up_to(rows), changing, listed.search_limit, getattr(action, "consequence", ""))
        request.run = for_all  # type: ignore[attr-defined]
        # On no row, the action only checks its form.
        page: Any = cast("Any", action)(self, request, self.model._default_manager.none())
        if isinstance(page, HttpResponseBase):
            return page
        if "apply" not in request.POST:
            return self.action_page(request, title=str(title), submit=str(title))
        form = request.POST.copy()
        for bar in _OF_THE_BAR:
            form.pop(bar, None)
        job = ask_action(
            cast("User", request.user),
            self.opts.label_lower,
            list_title=self._list_title(),
            query=request.GET.urlencode(),
            action=name,
            action_title=str(title),
            form=form.urlencode(),
            facts=for_all.facts,
        )
        return redirect(reverse("admin:lists_listaction_change", args=[job.pk]))

    def message_user(
        self, request: HttpRequest, message: Any, level: Any = messages.INFO, *rest: Any, **more: Any
    ) -> None:
        """Show a message, unless the run of an action takes it."""
        if run_of(request).shows(str(message), int(level)):
            super().message_user(request, message, level, *rest, **more)
