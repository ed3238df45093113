"""The site of the admin: the theme's, without work on each page that our menu makes needless."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from unfold.sites import UnfoldAdminSite


class AdminSite(UnfoldAdminSite):
    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return the apps with their models, made when they are first read: each page gets them, and few show them."""
        make = super().get_app_list
        return SimpleLazyObject(lambda: make(request, app_label))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), "frame": "admin/poll.html" if is_poll(request) else "admin/base.html"}

    def get_sidebar_list(self, request: HttpRequest) -> list[dict[str, Any]]:
        if is_poll(request):
            return []
        from callcentre.web import menu  # noqa: PLC0415  (it registers pages at the site)

        return menu.menu(request)


def is_poll(request: HttpRequest) -> bool:
    """Return whether a page asks on its own (poll.js), and no person: it takes parts of its content at most."""
    return "X-Poll" in request.headers
