from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import DeletableMixin, ReadOnlyAdmin, UncountedMixin, column, cut, link_to, user_of
from callcentre.admin.lists import ConditionFilter
from callcentre.admin.scope import scope_of
from callcentre.core.integers import integer_of
from tickets.models import StoredFile


class UseFilter(ConditionFilter):
    title = _("used")
    parameter_name = "used"
    conditions = {"no": (_("uploaded and not used yet"), Q(message=None))}


@admin.register(StoredFile)
class StoredFileAdmin(DeletableMixin, UncountedMixin, ReadOnlyAdmin):
    """The files of messages, and uploads that no message uses yet."""

    deletion_kind = "file"
    has_own_history = True  # no edits: Django's history would be empty
    list_display = ("name_cut", "size_shown", "content_type", "ticket", "uploader", "created_at")
    list_display_links = ("name_cut",)
    list_filter = (UseFilter,)
    date_column = "created_at"
    joined = ("message__ticket", "api_user", "user")
    search_fields = ("token",)
    search_help_text = _("Number of a ticket, or the token of a file")
    fields = ("filename", "size_shown", "content_type", "sha256", "ticket", "uploader", "created_at")

    name_cut = column(lambda file: cut(file.filename), description=_("name"))
    size_shown = column(lambda file: str(filesizeformat(file.size)), description=_("size"))
    ticket = column(
        lambda file: link_to(file.message.ticket) if file.message else _now("not used yet"), description=_("ticket")
    )
    uploader = column(lambda file: str(file.api_user or file.user or _now("mail")), description=_("uploaded by"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[StoredFile]:
        files = super().get_queryset(request)
        if scope_of(request).ticket_queues is not None:
            # An upload that no message uses yet has no queue, and is for the person who wrote it.
            files = files.filter(Q(message__isnull=False) | Q(user=user_of(request)))
        return files

    def found(self, request: HttpRequest, rows: QuerySet[StoredFile], text: str) -> QuerySet[StoredFile]:
        term = text.strip(" #")
        ticket_id = integer_of(term)
        return rows.filter(token=term) if ticket_id is None else rows.filter(message__ticket=ticket_id)
