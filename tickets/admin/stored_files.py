from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter

from callcentre.admin import DeletableMixin, ReadOnlyAdmin, UncountedMixin, cut, display
from callcentre.core.integers import integer_of
from tickets.models import StoredFile


class UseFilter(DropdownFilter):
    title = _("used")
    parameter_name = "used"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("no", _("uploaded and not used yet"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[StoredFile]) -> QuerySet[StoredFile]:
        return queryset.filter(message=None) if self.value() == "no" else queryset


@admin.register(StoredFile)
class StoredFileAdmin(DeletableMixin, UncountedMixin, ReadOnlyAdmin):
    """Which files came and went with messages?"""

    deletion_kind = "file"
    has_own_history = True  # nobody edits them: Django's would be empty
    list_display = ("name_cut", "size_shown", "content_type", "ticket", "uploader", "created_at")
    list_display_links = ("name_cut",)
    list_filter = (UseFilter,)
    search_fields = ("token",)
    search_help_text = _("Number of a ticket, or the token of a file")
    fields = ("filename", "size_shown", "content_type", "sha256", "ticket", "uploader", "created_at")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[StoredFile]:
        related = ("message__ticket", "api_user", "user")
        return super().get_queryset(request).select_related(*related)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[StoredFile], search_term: str
    ) -> tuple[QuerySet[StoredFile], bool]:
        term = search_term.replace("\0", "").strip(" #")
        if (ticket_id := integer_of(term)) is not None:
            queryset = queryset.filter(message__ticket=ticket_id)
        elif term:
            queryset = queryset.filter(token=term)
        return queryset, False

    @display(description=_("name"))
    def name_cut(self, file: StoredFile) -> str:
        return cut(file.filename)

    @display(description=_("size"))
    def size_shown(self, file: StoredFile) -> str:
        return str(filesizeformat(file.size))

    @display(description=_("ticket"))
    def ticket(self, file: StoredFile) -> str:
        if file.message is None:
            return _now("not used yet")
        ticket = file.message.ticket
        url = reverse("admin:tickets_ticket_change", args=[ticket.pk])
        return format_html('<a class="cc-link" href="{}">{}</a>', url, ticket)

    @display(description=_("uploaded by"))
    def uploader(self, file: StoredFile) -> str:
        return str(file.api_user or file.user or _now("mail"))
