from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.admin import Admin, display, user_of
from callcentre.admin.base import with_images_from_elsewhere
from callcentre.admin.scope import RelatedDropdownFilter, scope_of
from callcentre.admin.theme import ModelForm
from callcentre.core.integers import integer_of
from telephony.models import Agent
from tickets import html
from tickets.admin.ticket_page_thread import preview_of
from tickets.models import CannedReply, Chat, Ticket
from tickets.placeholders import (
    PLACEHOLDERS,
    check_placeholders,
    fill,
    has_placeholder,
    spelled,
    values_for,
    values_for_chat,
)


class CannedReplyForm(ModelForm):
    class Meta:
        model = CannedReply
        fields = ("name", "queue", "body")
        widgets = {"body": UnfoldAdminTextareaWidget(attrs={"data-editor": "1", "data-height": "260"})}


def canned_replies_for(ticket: Ticket, agent: Agent | None, body_type: str) -> list[tuple[str, str]]:
    """Return the names of the replies that a ticket may get, and their texts with its facts."""
    replies = CannedReply.objects.filter(Q(queue=None) | Q(queue=ticket.queue_id))
    return [(reply.name, reply.text_for(ticket, agent, body_type)) for reply in replies]


def canned_replies_for_chat(chat: Chat, agent: Agent) -> list[tuple[str, str]]:
    """Return the names and texts of the replies for any queue that want no fact of a ticket: a chat has none."""
    values = values_for_chat(chat, agent)
    missing = set(PLACEHOLDERS) - values.keys()
    return [
        (reply.name, html.as_text(fill(reply.body, values)))
        for reply in CannedReply.objects.filter(queue=None)
        if not any(has_placeholder(reply.body, name) for name in missing)
    ]


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
    empty_for_all = "queue"
    change_form_outer_after_template = "admin/tickets/canned_reply.html"

    class Media:
        css = {"all": ("callcentre/jodit/jodit.min.css", "callcentre/editor.css", "tickets/canned_reply.css")}
        js = ("callcentre/jodit/jodit.min.js", "callcentre/editor.js", "tickets/canned_reply.js")

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("preview/", self.preview_view, "preview"), *super().get_urls()]

    def page_context(self, request: HttpRequest, obj: CannedReply | None) -> dict[str, Any]:
        return {"placeholders": [(name, spelled(name)) for name in PLACEHOLDERS], "preview_url": self.url_of("preview")}

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Answer with the posted text as the newest ticket of its queue would fill it."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not (self.has_view_permission(request) and request.user.has_perm("tickets.view_ticket")):
            raise PermissionDenied
        body, queue = request.POST.get("body", ""), integer_of(request.POST.get("queue", ""))
        try:
            check_placeholders(body=(body, ()))
        except ValidationError as error:
            return JsonResponse({"trouble": " ".join(error.messages)})
        tickets = scope_of(request).within(Ticket.objects.all())
        if queue:
            tickets = tickets.filter(queue=queue)
        ticket = tickets.select_related("customer", "queue").order_by("-id").first()
        if ticket is None:
            return JsonResponse({"trouble": _now("There is no ticket yet whose facts could be put in.")})
        values = values_for(ticket, Agent.objects.of_user(user_of(request)))
        source = _now("With the facts of ticket #%(number)s") % {"number": ticket.pk}
        document = preview_of(html.clean(fill(body, values)))
        return JsonResponse({"trouble": "", "source": source, "values": values, "document": document})

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        field.empty_label = _now("any queue")
        return field

    @display(description=_("ticket queue"), ordering="queue__name")
    def queue_name(self, reply: CannedReply) -> str:
        return str(reply.queue) if reply.queue else _now("any queue")
