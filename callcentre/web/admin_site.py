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

    def get_sidebar_list(self, request: HttpRequest) -> list[dict[str, Any]]:
        from callcentre.web import menu  # noqa: PLC0415  (it registers pages at the site)

        return menu.menu(request)
