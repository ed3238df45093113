"""The page of actions on all rows of a list that match: their progress, their end, and what was refused."""

from typing import Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from callcentre.admin.base import actor_of
from callcentre.admin.file_jobs import COLOURS, JobAdmin
from callcentre.admin.lists import UncountedMixin
from callcentre.admin.theme import display
from callcentre.core.errors import Conflict
from callcentre.lists.actions import cancel_action, canceller_of
from callcentre.lists.listed import address_of
from callcentre.lists.models import SEES_ALL, ListAction, ListActionQuerySet, sees_all


@admin.register(ListAction)
class ListActionAdmin(UncountedMixin, JobAdmin):
    """The person's own actions on lists within their present scope. Administrators and auditors see those of all
    people, and administrators cancel them.
    """

    list_display = (
        *("what", "state_label", "total_count", "done_count", "unchanged_count", "refused_count"),
        *("actor_name", "created_at"),
    )
    list_display_links = ("what",)
    list_filter = (("state", ChoicesDropdownFilter),)

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("<int:pk>/cancel/", self.cancel_view, "cancel"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ListAction]:
        rows = cast("ListActionQuerySet", super().get_queryset(request).defer("ids"))
        return rows if sees_all(request.user) else rows.of_user(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let people see their own actions, also without a right to the list of them."""
        is_own = obj is not None and obj.is_of(request.user)
        return is_own or bool(super().has_view_permission(request, obj))

    @display(description=_("action"))
    def what(self, job: ListAction) -> str:
        return str(job)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        job: ListAction = self.job_or_404(request, object_id)
        refusals = [
            {"sentence": sentence, "count": entry["count"], "ids": entry["ids"]}
            for sentence, entry in sorted(job.refusals.items(), key=lambda item: -item[1]["count"])
        ]
        return self.page(
            request,
            "admin/list_action.html",
            job,
            title=_now("Action on a list"),
            job=job,
            colour=COLOURS[job.state],
            cancelled_by=canceller_of(job),
            refusals=refusals,
            shown_list_url=f"{address_of(job.list_name)}?{job.query}",
            list_url=self.url_of("changelist"),
            progress_url=self.url_of("progress", job.pk),
            cancel_url=self.url_of("cancel", job.pk) if _may_cancel(request, job) else "",
        )

    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        job: ListAction = self.job_or_404(request, pk)
        if not _may_cancel(request, job):
            raise PermissionDenied
        if request.method == "POST":
            try:
                cancel_action(job, actor_of(request))
            except Conflict:
                self.message_user(request, _now("The action has ended already."), messages.WARNING)
        return redirect(self.url_of("change", pk))


def _may_cancel(request: HttpRequest, job: ListAction) -> bool:
    return job.is_of(request.user) or bool(request.user.has_perm(SEES_ALL))
