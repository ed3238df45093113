"""Deletion of personal data in the admin: the page that asks before it, and the list of deletions."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter
from unfold.widgets import UnfoldAdminTextInputWidget

from callcentre.admin.base import REFUSALS, Admin, actor_of
from callcentre.admin.jobs import COLOURS, JobAdmin
from callcentre.admin.lists import UncountedMixin
from callcentre.admin.theme import column
from callcentre.core import erasures
from callcentre.core.deletions import LONGEST_REASON, RIGHT, Deletion, Part, consequences_of, kind_names, model_name


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"),
        max_length=LONGEST_REASON,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "autocomplete": "off"}),
        help_text=_("It is kept for good. Name the request or the rule, such as “request of 21 November”, no person."),
    )


class DeletableMixin(Admin):
    """Deletion of one object with all that belongs to it alone, instead of Django's: with a reason and a trace."""

    # The name under which the object's app registered the deletion.
    deletion_kind: ClassVar[str]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Require the right to delete personal data: `delete_ticket` and the like are not enough."""
        return bool(request.user.has_perm(RIGHT) and self.has_view_permission(request, obj))

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.row_or_404(request, unquote(object_id), "delete")
        form = ReasonForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                deletion = Deletion.ask(actor_of(request), self.deletion_kind, row, form.cleaned_data["reason"])
            except REFUSALS as error:
                self.add_refusals(form, error)
            else:
                return redirect(reverse("admin:callcentre_deletion_change", args=[deletion.pk]))
        return self.page(
            request,
            "admin/deletion_ask.html",
            row,
            title=_now("Delete"),
            media=self.media + form.media,
            form=form,
            row=row,
            consequences=consequences_of(self.deletion_kind, row),
            cancel_url=self.url_of("change", row.pk),
        )


class KindFilter(DropdownFilter):
    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return kind_names()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Deletion]) -> QuerySet[Deletion]:
        return queryset.filter(kind=self.value()) if self.value() in dict(kind_names()) else queryset


@admin.register(Deletion)
class DeletionAdmin(UncountedMixin, JobAdmin):
    """The list of deletions: object, person, time, reason."""

    has_own_history = True  # a deletion is its own history
    template = "admin/deletion.html"
    list_display = ("created_at", "kind_shown", "object_id", "actor_name", "reason", "state_shown")
    list_display_links = ("created_at", "object_id")
    list_filter = (KindFilter, ("state", ChoicesDropdownFilter))
    search_fields = ("object_id",)
    search_help_text = _("Id of what was deleted, or the name of the person who had it deleted")

    state_shown = JobAdmin.state_label  # the name of the column in saved views

    kind_shown = column(lambda deletion: deletion.kind_name, description=_("kind"))

    def get_urls(self) -> list[URLPattern]:
        return [
            self.url_to("<int:pk>/again/", self.again_view, "again"),
            self.url_to("<int:pk>/decide/", self.decide_view, "decide"),
            *super().get_urls(),
        ]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let people who may delete see their deletions."""
        return request.user.has_perm(RIGHT) or bool(super().has_view_permission(request, obj))

    def found(self, request: HttpRequest, rows: QuerySet[Deletion], text: str) -> QuerySet[Deletion]:
        if not (term := text.strip(" #")):
            return rows
        found = rows.filter(object_id=term)
        return found if found.exists() else rows.filter(actor_name__iexact=term)

    def page_context(self, request: HttpRequest, obj: Deletion) -> dict[str, Any]:
        return {
            "title": _now("Deletion"),
            "subtitle": f"{obj.kind_name} {obj.object_id}",
            "deletion": obj,
            "colour": COLOURS[obj.state],
            "deleted": _parts(obj.deleted),
            "emptied": _parts(obj.emptied),
            "kept": _parts(obj.kept or {}),
            "may_consent": (obj.actor_kind, obj.actor_id) != ("user", request.user.pk),
            "decide_url": self.url_of("decide", obj.pk),
            "may_delete": request.user.has_perm(RIGHT),
            "again_url": self.url_of("again", obj.pk),
        }

    def progress_of(self, job: Any) -> dict[str, Any]:
        return {"has_ended": job.has_ended}

    def again_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        deletion: Deletion = self.job_or_404(request, pk)
        if not request.user.has_perm(RIGHT):
            raise PermissionDenied
        return self.do_if_sent(request, pk, lambda: deletion.ask_again(actor_of(request)))

    def decide_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Take the consent of a second person to an erasure, or a refusal."""
        deletion: Deletion = self.job_or_404(request, pk)
        if not erasures.may_erase(request.user):
            raise PermissionDenied
        decide = erasures.consent if request.POST.get("decision") == "consent" else erasures.refuse
        return self.do_if_sent(request, pk, lambda: decide(actor_of(request), deletion))


def _parts(counts: Mapping[str, int]) -> list[Part]:
    return sorted((Part(model, count) for model, count in counts.items()), key=lambda part: model_name(part.model))
