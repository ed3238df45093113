"""The page on which a person chooses the columns of a list, and saves and chooses views of it."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.views.main import ORDER_VAR
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from callcentre.admin.lists import COLUMNS, order_by_names
from callcentre.admin.pages import Pages
from callcentre.core.exporting.builds import Refused
from callcentre.core.integers import integer_of
from callcentre.lists.cells import ListColumn
from callcentre.lists.listed import list_of
from callcentre.lists.models import SavedView
from callcentre.lists.saved_views import (
    SAVED,
    SHARES,
    WHOLE_LIST,
    address_of_view,
    default_of,
    edit_view,
    keep_in_session,
    query_of_view,
    save_view,
    set_default,
)
from callcentre.models import User


class ListViews(Pages):
    """The base of admins whose lists have columns to choose and views to save."""

    # Columns that a person may add to those of `list_display`.
    list_further: tuple[str, ...] = ()

    def get_urls(self) -> list[URLPattern]:
        return [
            self.url_to("list-views/", self.list_views_view, "list_views"),
            self.url_to("list-views/<int:view_id>/", self.list_view_view, "list_view"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Show the list, or lead from its bare address to the view with which it opens for the person."""
        if request.method == "GET" and not request.GET and default_of(request.session, self._list_name):
            keep_in_session(request.session, cast("User", request.user))  # its owner may have deleted it meanwhile
            if query := default_of(request.session, self._list_name):
                return HttpResponseRedirect(f"{request.path}?{query}")
        try:
            return super().changelist_view(request, extra_context)
        except DisallowedModelAdminLookup:
            if not request.GET.get(SAVED):
                raise
            sentence = _("The list no longer has a filter of the view, so it is shown unfiltered.")
            self.message_user(request, sentence, messages.WARNING)
            return redirect(f"{request.path}{WHOLE_LIST}")

    def get_list_display(self, request: HttpRequest) -> Any:
        usual = super().get_list_display(request)
        chosen = [name for name in request.GET.get(COLUMNS, "").split(",") if name in (*usual, *self.list_further)]
        return list(dict.fromkeys(chosen)) or usual

    def columns_with_box(self, request: HttpRequest) -> list[str]:
        """Return the columns as an order in an address counts them: with the box of a row, if there are actions."""
        box = ["action_checkbox"] if self.get_actions(request) else []
        return [*box, *self.get_list_display(request)]

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        links: Any = super().get_list_display_links(request, list_display)
        if links is None:
            return None
        return [name for name in links if name in list_display] or [*list_display][:1]

    def list_views_view(self, request: HttpRequest) -> HttpResponse:
        """Show the columns and the saved views. Save the address as a view, or lead to the list with new columns."""
        self._require_list(request)
        user = cast("User", request.user)
        trouble = ""
        if request.method == "POST" and "columns" in request.POST:
            return redirect(self._list_with(request.GET.urlencode(), self._chosen_list_columns(request)))
        if request.method == "POST":
            try:
                self._listed(request)
                with transaction.atomic():
                    view = save_view(
                        user,
                        self._list_name,
                        request.POST.get("name", ""),
                        self._query_of_view(request),
                        is_shared="is_shared" in request.POST,
                    )
                    if "is_default" in request.POST:
                        set_default(request.session, user, self._list_name, view)
            except ValidationError as error:
                trouble = " ".join(error.messages)
            except Refused:
                trouble = _("The list has no such filter, so the view was not saved.")
            else:
                return redirect(f"{self.url_of('changelist')}?{address_of_view(view)}")
        return self._list_views_page(request, trouble)

    def list_view_view(self, request: HttpRequest, view_id: int) -> HttpResponse:
        """Rename, share, delete, or choose a view as the one with which the list opens."""
        self._require_list(request)
        user = cast("User", request.user)
        views = SavedView.objects.for_person(user, self._list_name)
        with transaction.atomic():  # no other request deletes the view while a list is made to open with it
            view = get_object_or_404(views.select_for_update(no_key=True), pk=view_id)
            return self._change_view(request, user, view)

    def _change_view(self, request: HttpRequest, user: User, view: SavedView) -> HttpResponse:
        back = redirect(self.url_with_query(request, "list_views"))
        if request.method != "POST":
            return back
        match request.POST.get("do"):
            case "default":
                set_default(request.session, user, self._list_name, view)
            case "no-default":
                set_default(request.session, user, self._list_name, None)
            case "delete" if view.user_id == user.pk and view.is_shared:
                return self.page(
                    request,
                    "admin/action.html",
                    title=_("Delete the view %(name)s?") % {"name": view.name},
                    intro=_("It is shared: other people lose it too."),
                    buttons=("do", [("delete-shared", _("Delete"))]),
                    cancel_url=self.url_with_query(request, "list_views"),
                )
            case "delete" | "delete-shared" if view.user_id == user.pk:
                view.delete()
                keep_in_session(request.session, user)
            case "rename" if view.user_id == user.pk:
                try:
                    edit_view(view, user, request.POST.get("name", ""), is_shared="is_shared" in request.POST)
                except ValidationError as error:
                    return self._list_views_page(request, " ".join(error.messages))
            case _:
                raise PermissionDenied
        return back

    def _query_of_view(self, request: HttpRequest) -> str:
        """Return the address with its order by names: for other people of a shared view, a column has another place."""
        query = request.GET.copy()
        if order := query.get(ORDER_VAR):
            query[ORDER_VAR] = order_by_names(order, self.columns_with_box(request))
        return query.urlencode()

    def _listed(self, request: HttpRequest) -> Any:
        """Return the list with this address, as a worker reads it: all its pages. Raises Refused."""
        return list_of(self, cast("User", request.user), request.GET.urlencode())

    @property
    def _list_name(self) -> str:
        return self.opts.label_lower

    def _require_list(self, request: HttpRequest) -> None:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied

    def _list_views_page(self, request: HttpRequest, trouble: str) -> HttpResponse:
        user = cast("User", request.user)
        opens_with = default_of(request.session, self._list_name)
        views = [
            {
                "view": view,
                "address": f"{self.url_of('changelist')}?{address_of_view(view)}",
                "url": self.url_with_query(request, "list_view", view.pk),
                "is_own": view.user_id == user.pk,
                "is_default": opens_with.endswith(f"{SAVED}={view.pk}"),
            }
            for view in SavedView.objects.for_person(user, self._list_name)
        ]
        return self.page(
            request,
            "admin/list_views.html",
            title=_("Views and columns: %(list)s") % {"list": self._list_title()},
            views=views,
            trouble=trouble,
            columns=self._list_columns(request),
            may_share=user.has_perm(SHARES),
            here=self.url_with_query(request, "list_views"),
            back_url=self.url_with_query(request, "changelist"),
        )

    def _list_columns(self, request: HttpRequest) -> list[dict[str, Any]]:
        """Return the columns: those that are shown, in their order, then the others."""
        shown = [*self.get_list_display(request)]
        others = [name for name in (*super().get_list_display(request), *self.list_further) if name not in shown]
        return [
            {"name": name, "title": ListColumn(name, self).title, "is_shown": name in shown, "place": place}
            for place, name in enumerate(dict.fromkeys([*shown, *others]), start=1)
        ]

    def _chosen_list_columns(self, request: HttpRequest) -> list[str]:
        places = {column["name"]: column["place"] for column in self._list_columns(request)}
        chosen = [name for name in request.POST.getlist("column") if name in places]
        return sorted(
            chosen, key=lambda name: (integer_of(request.POST.get(f"place-{name}")) or places[name], places[name])
        )

    def _list_with(self, query: str, columns: list[str]) -> str:
        from_address = query_of_view(query).split("&")
        # The order counts columns by their places, so new columns begin with the list's own order.
        kept = [part for part in from_address if part and not part.startswith((f"{COLUMNS}=", "o="))]
        return f"{self.url_of('changelist')}?{'&'.join([*kept, f'{COLUMNS}=' + ','.join(columns)])}"

    def url_with_query(self, request: HttpRequest, page: str, *args: Any) -> str:
        """Return the address of a page of the list, with the list's own parameters."""
        query = request.GET.urlencode()
        return f"{self.url_of(page, *args)}?{query}" if query else self.url_of(page, *args)

    def _list_title(self) -> str:
        return str(capfirst(str(self.opts.verbose_name_plural)))
