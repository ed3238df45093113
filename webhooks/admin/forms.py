from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django import forms
from django.forms.models import construct_instance
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminPasswordWidget,
    UnfoldAdminSplitDateTimeWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from callcentre.admin.dates import MinuteField
from callcentre.admin.secrets import OwnPasswordForm
from callcentre.admin.theme import ModelForm
from webhooks.event_types import EventType
from webhooks.models import Webhook

CREDENTIALS = ("new_user", "new_password", "forget_credentials")
FIELDS = ("subscription_url", "actions", "format")
GROUPS = {
    "CHAT": _("Chats"),
    "CUSTOMER": _("Customers"),
    "PERSON": _("Customers"),
    "TICKET": _("Tickets"),
    "AGENT": _("Agents"),
    "CONNECTION": _("Calls"),
    "CALLBACK": _("Calls"),
    "SCREEN": _("Calls"),
    "RECORDING": _("Calls"),
    "TRANSCRIPTION": _("Calls"),
    "OUTBOUND": _("Campaigns"),
    "RECORD": _("Campaigns"),
    "ALARM": _("Alarms"),
}


class ActionBoxes(forms.CheckboxSelectMultiple):
    """Check boxes of actions in groups: chats, calls, …"""

    template_name = "admin/webhooks/action_boxes.html"


def by_group(actions: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Return actions with their sentences, by what they are about."""
    grouped = defaultdict(list)
    for action in map(EventType, actions):
        word = action.value.partition("_")[0]
        grouped[str(GROUPS.get(word, word.capitalize()))].append((action.value, str(action.label)))
    return grouped


def _choices() -> list[tuple[str, list[tuple[str, str]]]]:
    return list(by_group(EventType).items())


class ActionsField(forms.MultipleChoiceField):
    widget = ActionBoxes


class WebhookForm(OwnPasswordForm, ModelForm):
    """The form of a webhook. It never shows stored credentials: typed ones replace them, empty fields keep them."""

    actions = ActionsField(label=_("Actions"), choices=_choices)
    new_user = forms.CharField(
        label=_("User"),
        required=False,
        max_length=255,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    new_password = forms.CharField(
        label=_("Password"),
        required=False,
        strip=False,
        max_length=255,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )
    forget_credentials = forms.BooleanField(
        label=_("Remove user and password"), required=False, widget=UnfoldBooleanWidget()
    )

    class Meta:
        model = Webhook
        fields = FIELDS

    def _post_clean(self) -> None:
        """Set the fields without validation: `rules.faults_of` validates for API and admin, and the verb refuses."""
        self.instance = construct_instance(self, self.instance, FIELDS)

    def is_sensitive(self) -> bool:
        """Return whether stored credentials are replaced or removed."""
        return self.instance.pk is not None and not set(CREDENTIALS).isdisjoint(self.changed_data)

    def values(self) -> dict[str, Any]:
        """Return the changed values for the verb."""
        given = self.cleaned_data
        values = {name: given[name] for name in FIELDS if name in self.changed_data}
        if given.get("forget_credentials"):
            return {**values, "http_auth_user": "", "http_auth_password": ""}
        credentials = {"http_auth_user": given.get("new_user"), "http_auth_password": given.get("new_password")}
        return {**values, **{name: text for name, text in credentials.items() if text}}


class ResendForm(forms.Form):
    since = MinuteField(
        label=_("Failed since"),
        widget=UnfoldAdminSplitDateTimeWidget(),
        help_text=_("Deliveries that were given up at that time or later."),
    )
    includes_waiting = forms.BooleanField(
        label=_("Also those that wait for a later attempt"), required=False, initial=True, widget=UnfoldBooleanWidget()
    )

    def clean_since(self) -> Any:
        since = self.cleaned_data["since"]
        if since > timezone.now():
            raise forms.ValidationError(_("This is in the future."))
        return since
