"""The parts of a page of the admin: its address, its row, its template."""

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django import forms
from django.contrib import admin
from django.contrib.admin import helpers
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.cache import add_never_cache_headers
from django.utils.http import url_has_allowed_host_and_scheme

from callcentre.admin.theme import ModelAdmin
from callcentre.lists.runs import run_of


def site_page(request: HttpRequest, template: str, title: Any, **context: Any) -> TemplateResponse:
    """Answer with a page of the admin that belongs to no model."""
    return TemplateResponse(request, template, {**admin.site.each_context(request), "title": title, **context})


class Pages(ModelAdmin):
    """The pages that an admin has beside those of Django."""

    def row_or_404(self, request: HttpRequest, object_id: str, may: str = "change") -> Any:
        """Return the row of a page of its own. Raise PermissionDenied to a person who may not `may` it, or Http404."""
        row = self.get_object(request, object_id)
        if not getattr(self, f"has_{may}_permission")(request, row):
            raise PermissionDenied
        if row is None:
            raise Http404
        return row

    def url_to(self, route: str, view: Callable[..., Any], page: str) -> URLPattern:
        """Return the pattern of a page for `get_urls`; `url_of(page)` finds it."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_{page}"
        pattern: URLPattern = path(route, self.admin_site.admin_view(view), name=name)
        return pattern

    def url_of(self, page: str, *args: Any) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}", args=args)

    def action_page(
        self,
        request: HttpRequest,
        *,
        title: str,
        submit: str,
        form: forms.Form | None = None,
        obj: models.Model | None = None,
        selected: Iterable[models.Model] = (),
        **context: Any,
    ) -> HttpResponse:
        """Answer with the page on which an action asks for input, or for confirmation."""
        of_run = run_of(request).page_context()
        defaults = {
            "form": form,
            "media": self.media + (form.media if form else forms.Media()),
            "submit_label": submit,
            "selected": [(str(row.pk), str(row)) for row in selected],
            "action": request.POST.get("action", ""),
            "checkbox": helpers.ACTION_CHECKBOX_NAME,
            "chosen": request.POST.get(helpers.ACTION_CHECKBOX_NAME),
            "cancel_url": self.back_url(request, obj) if obj else request.get_full_path(),
            "back": self.back_url(request, obj) if obj else "",
        }
        context = defaults | context | of_run
        return self.page(request, "admin/action.html", obj, title=title, **context)

    def back_url(self, request: HttpRequest, obj: models.Model) -> str:
        """Return the page of ours from which the person came to an action on one row, else the page of the row."""
        came_from = urlsplit(request.POST.get("back") or request.headers.get("Referer", ""))
        address = urlunsplit(("", "", came_from.path, came_from.query, ""))
        is_ours = came_from.netloc in ("", request.get_host()) and address.startswith(reverse("admin:index"))
        is_ours = is_ours and came_from.path != request.path
        return address if is_ours and url_has_allowed_host_and_scheme(address, None) else self.url_of("change", obj.pk)

    def page(
        self, request: HttpRequest, template: str, obj: models.Model | None = None, *, title: str, **context: Any
    ) -> HttpResponse:
        """Answer with a page of the admin that has a template of its own."""
        defaults = {
            **self.admin_site.each_context(request),
            "title": title,
            "subtitle": str(obj) if obj else None,
            "opts": self.opts,
            "original": obj,
            "media": self.media,
        }
        return TemplateResponse(request, template, defaults | context)

    def secret_page(
        self, request: HttpRequest, obj: models.Model, secret: str, *, title: str, intro: str, login: str = ""
    ) -> HttpResponse:
        """Answer with the page that shows a secret. No other page shows it, and no cache keeps it."""
        facts = {"secret": secret, "login": login, "intro": intro, "done_url": self.url_of("change", obj.pk)}
        response = self.page(request, "admin/secret.html", obj, title=title, **facts)
        add_never_cache_headers(response)
        return response
