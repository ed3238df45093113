"""The page of exports of lists: their progress, and their files."""

from typing import Any, cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from callcentre.admin.file_jobs import FileJobAdmin
from callcentre.admin.lists import UncountedMixin
from callcentre.admin.theme import display
from callcentre.core.changes import AskedFor
from callcentre.core.exporting.jobs import FileJobQuerySet
from callcentre.lists.exports import RIGHT
from callcentre.lists.listed import address_of
from callcentre.lists.models import ListExport, sees_all


@admin.register(ListExport)
class ListExportAdmin(UncountedMixin, FileJobAdmin):
    """The person's own exports within their present scope. Administrators and auditors see those of all people, without
    files.
    """

    list_display = ("name", "list_title", "state_label", "row_count", "format", "actor_name", "created_at")
    list_display_links = ("name",)
    list_filter = (("state", ChoicesDropdownFilter), ("format", ChoicesDropdownFilter))

    def get_queryset(self, request: HttpRequest) -> QuerySet[ListExport]:
        rows = cast("FileJobQuerySet", super().get_queryset(request))
        return rows if sees_all(request.user) else rows.of_user(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let people who may export see their exports."""
        return request.user.has_perm(RIGHT) or bool(super().has_view_permission(request, obj))

    @display(description=_("file"))
    def name(self, export: ListExport) -> str:
        return export.file_name

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        export: ListExport = self.job_or_404(request, object_id)
        return self.page(
            request,
            "admin/list_export.html",
            export,
            title=_now("Export of a list"),
            export=export,
            may_download=_may_download(request, export),
            shown_list_url=f"{address_of(export.list_name)}?{export.query}",
            list_url=self.url_of("changelist"),
            progress_url=self.url_of("progress", export.pk),
            download_url=self.url_of("download", export.pk),
        )

    def download_view(self, request: HttpRequest, pk: int) -> FileResponse:
        """Answer with the file, to the person who asked for it: another person may see other rows of the list."""
        if not _may_download(request, self.job_or_404(request, pk)):
            raise PermissionDenied
        return super().download_view(request, pk)


def _may_download(request: HttpRequest, export: AskedFor) -> bool:
    return export.is_of(request.user) or bool(getattr(request.user, "is_superuser", False))
