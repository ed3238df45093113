"""The page of an agent's own notices and settings, and the settings of all agents for those who supervise them."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from callcentre.admin import Admin, display, user_of
from callcentre.admin.base import REFUSALS, with_images_from_elsewhere
from callcentre.admin.pages import site_page
from callcentre.admin.scope import scope_of
from callcentre.admin.theme import ModelForm
from callcentre.core.scope import may_see
from telephony.models import Agent
from tickets.models import AgentPreferences, Notice, NoticeKind, Ticket
from tickets.models.notice import heading_of

# The newest notices of the page.
SHOWN = 30
OWN_FIELDS = ("on_bar", "by_mail", "away_from", "away_until", "signature")


class PreferencesForm(ModelForm):
    """The settings of an agent. The row keeps the kinds that are not on the bar, so that a further kind is there."""

    on_bar = forms.MultipleChoiceField(
        label=_("On the bar"),
        required=False,
        choices=NoticeKind.choices,
        initial=NoticeKind.values,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )
    by_mail = forms.MultipleChoiceField(
        label=_("By mail"),
        required=False,
        choices=NoticeKind.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text=_("To the e-mail address of the agent."),
    )

    class Meta:
        model = AgentPreferences
        fields = ("agent", "by_mail", "away_from", "away_until", "signature")
        widgets = {"signature": UnfoldAdminTextareaWidget(attrs={"data-editor": "1", "data-height": "200"})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["on_bar"] = _without(self.instance.not_on_bar)

    def clean(self) -> Any:
        cleaned = super().clean()
        self.instance.not_on_bar = _without(self.cleaned_data.get("on_bar", ()))
        return cleaned

    @cached_property
    def changed_data(self) -> list[str]:
        """Return the names of the changed columns."""
        return ["not_on_bar" if name == "on_bar" else name for name in super().changed_data]


def _without(kinds: Any) -> list[str]:
    return [kind for kind in NoticeKind.values if kind not in kinds]


@admin.register(AgentPreferences)
@method_decorator(with_images_from_elsewhere, "changeform_view")
class AgentPreferencesAdmin(Admin):
    """The list answers which agents are out of office, and who gets mails."""

    form = PreferencesForm
    list_display = ("agent", "away_from", "away_until", "mailed_kinds", "updated_at")
    list_display_links = ("agent",)
    list_select_related = ("agent",)
    search_fields = ("agent__login", "agent__name", "agent__surname")
    search_help_text = _("Login or name of the agent")
    fields = ("agent", *OWN_FIELDS)
    fixed_fields = ("agent",)
    autocomplete_fields = ("agent",)

    class Media:
        css = {"all": ("callcentre/jodit/jodit.min.css", "callcentre/editor.css", "tickets/notices.css")}
        js = ("callcentre/jodit/jodit.min.js", "callcentre/editor.js")

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("own/", self.own_view, "own"), *super().get_urls()]

    @display(description=_("by mail"))
    def mailed_kinds(self, row: AgentPreferences) -> str:
        return ", ".join(str(NoticeKind(kind).label) for kind in row.by_mail)

    @method_decorator(with_images_from_elsewhere)
    def own_view(self, request: HttpRequest) -> HttpResponse:
        """Show an agent the newest notices and the settings, for which no right is needed."""
        agent = Agent.objects.of_user(user_of(request))
        if agent is None:
            raise PermissionDenied
        stored = AgentPreferences.objects.filter(agent=agent).first()
        row = stored or AgentPreferences(agent=agent)
        form = self.get_form(request, fields=OWN_FIELDS)(request.POST or None, instance=row)
        if request.method == "POST" and form.is_valid():
            try:
                self.save_model(request, form.save(commit=False), form, change=stored is not None)
                self.message_user(request, _now("Your settings are saved."), messages.SUCCESS)
                return redirect(self.url_of("own"))
            except REFUSALS as refusal:
                self.add_refusals(form, refusal)
        return site_page(
            request,
            "admin/tickets/notices.html",
            _now("My notices"),
            media=self.media + form.media,
            form=form,
            notices=_shown(request, agent),
            agent=agent,
        )


def _shown(request: HttpRequest, agent: Agent) -> list[tuple[Notice, str]]:
    """Return the newest notices of tickets that the person may see now, with what they say."""
    if not may_see(request.user, "tickets", "ticket"):
        return []
    inside = scope_of(request).condition(Ticket, "ticket__")
    notices = Notice.objects.filter(inside, agent=agent).select_related("ticket")[:SHOWN]
    return [(notice, heading_of(notice.kind, notice.key, str(notice.ticket))) for notice in notices]
