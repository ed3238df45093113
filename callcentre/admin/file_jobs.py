"""The pages of exports: their progress and download."""

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

State = FileJob.State
COLOURS: dict[str, str] = {
    State.QUEUED: "info",
    State.RUNNING: "info",
    State.FINISHED: "success",
    State.FAILED: "danger",
}


class FileJobAdmin(ReadOnlyAdmin):
    """The base of admins of exports. A page follows the progress by its own address."""

    class Media:
        css = {"all": ["callcentre/progress.css"]}
        js = ["callcentre/progress.js"]

    def get_urls(self) -> list[URLPattern]:
        return [
            self.url_to("<int:pk>/progress/", self.progress_view, "progress"),
            self.url_to("<int:pk>/download/", self.download_view, "download"),
            *super().get_urls(),
        ]

    @display(description=_("state"), ordering="state", label=COLOURS)
    def state_label(self, job: FileJob) -> tuple[str, str]:
        label = str(job.get_state_display())
        return job.state, f"{label} {job.percent} %" if job.state == State.RUNNING else label

    def progress_view(self, request: HttpRequest, pk: int) -> JsonResponse:
        job = self.job_or_404(request, pk)
        return JsonResponse(
            {
                "label": str(job.get_state_display()),
                "percent": job.percent,
                "rows": job.row_count,
                "has_ended": job.has_ended,
            }
        )

    def download_view(self, request: HttpRequest, pk: int) -> FileResponse:
        job = self.job_or_404(request, pk)
        if not job.file:
            raise Http404
        record_once(actor_of(request), AuditAction.DOWNLOAD, job, name=job.file_name)
        return file_response(lambda: job.file.open("rb"), job.file_name, job.content_type)

    def job_or_404(self, request: HttpRequest, pk: Any) -> FileJob:
        job: FileJob | None = self.get_object(request, str(pk))
        if job is None:
            raise Http404
        if not self.has_view_permission(request, job):
            raise PermissionDenied
        return job
