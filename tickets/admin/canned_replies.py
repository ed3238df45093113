from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.admin import Admin, display
from callcentre.admin.base import with_images_from_elsewhere
from callcentre.admin.theme import ModelForm
from tickets.models import CannedReply


class CannedReplyForm(ModelForm):
    class Meta:
        model = CannedReply
        fields = ("name", "queue", "body")
        widgets = {"body": UnfoldAdminTextareaWidget(attrs={"data-editor": "1", "data-height": "260"})}


@admin.register(CannedReply)
@method_decorator(with_images_from_elsewhere, "changeform_view")
class CannedReplyAdmin(Admin):
    """Texts that agents insert into replies."""

    form = CannedReplyForm
    list_display = ("name", "queue_name", "updated_at")
    list_display_links = ("name",)
    list_filter = (("queue", RelatedDropdownFilter),)
    list_select_related = ("queue",)
    search_fields = ("name", "body")
    search_help_text = _("Name or text")
    fields = ("name", "queue", "body")

    class Media:
        css = {"all": ("callcentre/jodit/jodit.min.css", "callcentre/editor.css")}
        js = ("callcentre/jodit/jodit.min.js", "callcentre/editor.js")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        field.empty_label = _now("any queue")
        return field

    @display(description=_("ticket queue"), ordering="queue__name")
    def queue_name(self, reply: CannedReply) -> str:
        return str(reply.queue) if reply.queue else _now("any queue")
