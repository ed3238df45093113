"""The pages of jobs of workers: their progress, and the download of exports."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, JsonResponse
from django.urls import URLPattern
from django.utils.translation import gettext_lazy as _

from callcentre.admin.base import ReadOnlyAdmin, actor_of
from callcentre.admin.theme import display
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.downloads import file_response
from callcentre.core.exporting.jobs import FileJob

# By the states of all kinds of jobs.
COLOURS = {
    "queued": "info",
    "running": "info",
    "finished": "success",
    "failed": "danger",
    "cancelled": "warning",
    "asked": "warning",
    "refused": "danger",
}


class JobAdmin(ReadOnlyAdmin):
    """The base of admins of jobs. A page follows the progress by its own address."""

    class Media:
        css = {"all": ["callcentre/progress.css"]}
        js = ["callcentre/progress.js"]

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("<int:pk>/progress/", self.progress_view, "progress"), *super().get_urls()]

    @display(description=_("state"), ordering="state", label=COLOURS)
    def state_label(self, job: Any) -> tuple[str, str]:
        label = str(job.get_state_display())
        return job.state, f"{label} {job.percent} %" if job.state == "running" and hasattr(job, "percent") else label

    def progress_view(self, request: HttpRequest, pk: int) -> JsonResponse:
        return JsonResponse(self.progress_of(self.job_or_404(request, pk)))

    def progress_of(self, job: Any) -> dict[str, Any]:
        """Return what the page shows of the progress."""
        label = str(job.get_state_display())
        return {"label": label, "percent": job.percent, "rows": job.row_count, "has_ended": job.has_ended}

    def job_or_404(self, request: HttpRequest, pk: Any) -> Any:
        """Return the job. A job outside the scope is missing."""
        if (job := self.get_object(request, str(pk))) is None:
            raise Http404
        if not self.has_view_permission(request, job):
            raise PermissionDenied
        return job


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
