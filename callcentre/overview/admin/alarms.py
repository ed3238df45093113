"""The alarms that supervisors set: their condition, their recipients, and whether they are raised."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from callcentre.admin import Admin, EditConflictForm, ListField, column, display
from callcentre.admin.base import user_of
from callcentre.admin.theme import ModelForm
from callcentre.core.times import second
from callcentre.overview.admin.cells import moment
from callcentre.overview.models import Alarm
from callcentre.overview.verbs.alarms import delete_alarm

# Mails on the page of an alarm.
MAILS_SHOWN = 20


class AlarmForm(EditConflictForm, ModelForm):
    recipients = ListField(
        label=_("Recipients"),
        required=False,
        help_text=_("E-mail addresses, one a line. Each gets a mail when the alarm is raised and when it is over."),
    )

    class Meta:
        model = Alarm
        fields = ("name", "is_active", "subject", "limit", "queue", "campaign", "sounds", "recipients", "language")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None and "language" in self.fields:
            self.fields["language"].initial = (get_language() or "en")[:2]


@admin.register(Alarm)
class AlarmAdmin(Admin):
    """The list answers which alarms are set, and which of them are raised."""

    form = AlarmForm
    list_display = ("name", "condition", "state", "is_active", "sounds", "told")
    list_filter = ("is_active", ("subject", ChoicesDropdownFilter))
    list_select_related = ("queue", "campaign")
    search_fields = ("name",)
    autocomplete_fields = ("queue", "campaign")
    change_form_outer_after_template = "admin/overview/alarm_mails.html"
    fieldsets = (
        (None, {"fields": (("name", "is_active"),)}),
        (_("Condition"), {"fields": ("subject", "limit", ("queue", "campaign"))}),
        (_("When it is raised, and when it is over"), {"fields": ("sounds", "recipients", "language")}),
    )

    condition = column(lambda alarm: alarm.sentence, description=_("condition"))
    told = column(lambda alarm: len(alarm.recipients), description=_("recipients"))

    @display(description=_("state"), label={"raised": "danger", "quiet": "success", "off": "default"})
    def state(self, alarm: Alarm) -> tuple[str, Any]:
        if alarm.raised_at:
            return "raised", _("raised since %(time)s") % {"time": moment(alarm.raised_at.timestamp())}
        return ("quiet", _("not raised")) if alarm.is_active else ("off", _("off"))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the alarm. It is of the person who changed it last, like a scheduled report."""
        obj.user = user_of(request)
        super().save_model(request, obj, form, change)
        if change and form.changed_data:
            obj.save(update_fields=["user"])

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        delete_alarm(obj)

    def page_context(self, request: HttpRequest, obj: Any | None) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj is not None:
            if obj.recipients and not obj.may_be_mailed:
                sentence = _("No mails are sent: %(user)s, who saved the alarm last, may not see it any more.")
                self.message_user(request, sentence % {"user": obj.user}, messages.WARNING)
            context["mails"] = [(mail, second(mail.at)) for mail in obj.mails.all()[:MAILS_SHOWN]]
        return context
