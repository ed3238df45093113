"""The pages of exports of lists and of actions on lists: their progress, and the files."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from callcentre.admin.base import ReadOnlyAdmin, actor_of
from callcentre.admin.lists import UncountedMixin
from callcentre.admin.theme import column, display
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.changes import AskedFor
from callcentre.core.downloads import file_response
from callcentre.core.errors import Conflict
from callcentre.core.exporting.jobs import FileJob, FileJobQuerySet
from callcentre.lists.actions import cancel_action, canceller_of
from callcentre.lists.exports import RIGHT
from callcentre.lists.listed import address_of
from callcentre.lists.models import SEES_ALL, ListAction, ListActionQuerySet, ListExport, sees_all

# By the states of all kinds of jobs.
COLOURS = {
    "uploaded": "warning",
    "queued": "info",
    "running": "info",
    "finished": "success",
    "cancelled": "warning",
    "failed": "danger",
    "asked": "warning",
    "refused": "danger",
}


class JobAdmin(ReadOnlyAdmin):
    """The base of admins of jobs. A page follows the progress by its own address."""

    template: str  # of the page of a job

    class Media:
        css = {"all": ["callcentre/progress.css"]}
        js = ["callcentre/progress.js"]

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("<int:pk>/progress/", self.progress_view, "progress"), *super().get_urls()]

    @display(description=_("state"), ordering="state", label=COLOURS)
    def state_label(self, job: Any) -> tuple[str, str]:
        label = str(job.get_state_display())
        return job.state, f"{label} {job.percent} %" if job.state == "running" and hasattr(job, "percent") else label

    def change_view(self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None) -> Any:
        job = self.job_or_404(request, object_id)
        urls = {"list_url": self.url_of("changelist"), "progress_url": self.url_of("progress", job.pk)}
        return self.page(request, self.template, job, **urls, **self.page_context(request, job))

    def progress_view(self, request: HttpRequest, pk: int) -> JsonResponse:
        return JsonResponse(self.progress_of(self.job_or_404(request, pk)))

    def progress_of(self, job: Any) -> dict[str, Any]:
        label = str(job.get_state_display())
        return {"label": label, "percent": job.percent, "rows": job.row_count, "has_ended": job.has_ended}

    def job_or_404(self, request: HttpRequest, pk: Any) -> Any:
        """Return the job. A job outside the scope is missing."""
        if (job := self.get_object(request, str(pk))) is None:
            raise Http404
        if not self.has_view_permission(request, job):
            raise PermissionDenied
        return job

    def do_if_sent(self, request: HttpRequest, pk: int, verb: Callable[[], object]) -> HttpResponse:
        """Run the verb of a page's button, say why it was refused, and lead to the page of the job."""
        if request.method == "POST":
            try:
                verb()
            except Conflict as error:
                self.say_refused(request, error)
        return redirect(self.url_of("change", pk))


class FileJobAdmin(JobAdmin):
    """The base of admins of exports."""

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("<int:pk>/download/", self.download_view, "download"), *super().get_urls()]

    def download_view(self, request: HttpRequest, pk: int) -> FileResponse:
        job: FileJob = self.job_or_404(request, pk)
        if not job.file:
            raise Http404
        record_once(actor_of(request), AuditAction.DOWNLOAD, job, name=job.file_name)
        return file_response(lambda: job.file.open("rb"), job.file_name, job.content_type)


@admin.register(ListAction)
class ListActionAdmin(UncountedMixin, JobAdmin):
    """The person's own actions on lists within their present scope. Administrators and auditors see those of all
    people, and administrators cancel them.
    """

    template = "admin/list_action.html"
    list_display = (
        *("what", "state_label", "total_count", "done_count", "unchanged_count", "refused_count"),
        *("actor_name", "created_at"),
    )
    list_display_links = ("what",)
    list_filter = (("state", ChoicesDropdownFilter),)

    what = column(str, description=_("action"))

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("<int:pk>/cancel/", self.cancel_view, "cancel"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ListAction]:
        rows = cast("ListActionQuerySet", super().get_queryset(request).defer("ids"))
        return rows if sees_all(request.user) else rows.of_user(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let people see their own actions, also without a right to the list of them."""
        is_own = obj is not None and obj.is_of(request.user)
        return is_own or bool(super().has_view_permission(request, obj))

    def page_context(self, request: HttpRequest, obj: ListAction) -> dict[str, Any]:
        refusals = [
            {"sentence": sentence, "count": entry["count"], "ids": entry["ids"]}
            for sentence, entry in sorted(obj.refusals.items(), key=lambda item: -item[1]["count"])
        ]
        return {
            "title": _now("Action on a list"),
            "job": obj,
            "colour": COLOURS[obj.state],
            "cancelled_by": canceller_of(obj),
            "refusals": refusals,
            "shown_list_url": f"{address_of(obj.list_name)}?{obj.query}",
            "cancel_url": self.url_of("cancel", obj.pk) if _may_cancel(request, obj) else "",
        }

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


@admin.register(ListExport)
class ListExportAdmin(UncountedMixin, FileJobAdmin):
    """The person's own exports within their present scope. Administrators and auditors see those of all people, without
    files.
    """

    template = "admin/list_export.html"
    list_display = ("name", "list_title", "state_label", "row_count", "format", "actor_name", "created_at")
    list_display_links = ("name",)
    list_filter = (("state", ChoicesDropdownFilter), ("format", ChoicesDropdownFilter))

    name = column(lambda export: export.file_name, description=_("file"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[ListExport]:
        rows = cast("FileJobQuerySet", super().get_queryset(request))
        return rows if sees_all(request.user) else rows.of_user(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let people who may export see their exports."""
        return request.user.has_perm(RIGHT) or bool(super().has_view_permission(request, obj))

    def page_context(self, request: HttpRequest, obj: ListExport) -> dict[str, Any]:
        return {
            "title": _now("Export of a list"),
            "export": obj,
            "may_download": _may_download(request, obj),
            "shown_list_url": f"{address_of(obj.list_name)}?{obj.query}",
            "download_url": self.url_of("download", obj.pk),
        }

    def download_view(self, request: HttpRequest, pk: int) -> FileResponse:
        """Answer with the file, to the person who asked for it: another person may see other rows of the list."""
        if not _may_download(request, self.job_or_404(request, pk)):
            raise PermissionDenied
        return super().download_view(request, pk)


def _may_download(request: HttpRequest, export: AskedFor) -> bool:
    return export.is_of(request.user) or bool(getattr(request.user, "is_superuser", False))
