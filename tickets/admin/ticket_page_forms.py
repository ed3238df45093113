"""The forms of the page of a ticket: the composer and the properties."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from callcentre.admin import EditConflictForm, ListField
from callcentre.core.scope import ALL, Scope
from telephony.models import Agent
from tickets.addresses import is_address
from tickets.admin.custom_field_inputs import input_of, name_of, shown_value
from tickets.admin.customer_forms import CustomerSelect
from tickets.models import (
    Customer,
    CustomField,
    Message,
    Priority,
    Team,
    Ticket,
    TicketCategory,
    TicketQueue,
    TicketStatus,
    TicketType,
)
from tickets.models.ticket import LONGEST_TAG, PRIORITIES

# A reply to the customer; a comment about an answer that the customer got another way; a comment for other agents.
REPLY, ANSWER, COMMENT = "reply", "answer", "comment"
MAX_RECIPIENTS = 50
LONGEST_TEXT = 2_000_000
MAX_TAGS = 100


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """A field for any number of files."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> Any:
        clean_one = super().clean
        return [clean_one(file, initial) for file in data or ()]


class AddressesField(ListField):
    """A list of e-mail addresses with commas between them."""

    widget = UnfoldAdminTextInputWidget

    def split(self, text: str) -> list[str]:
        return [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]

    def validate(self, value: Any) -> None:
        super().validate(value)
        if len(value) > MAX_RECIPIENTS:
            raise ValidationError(_now("At most %(count)s addresses.") % {"count": MAX_RECIPIENTS})
        for address in value:
            if not is_address(address):
                raise ValidationError(_now("%(address)s is no e-mail address.") % {"address": address})


def statuses_for(ticket: Ticket | None = None) -> list[tuple[str, Any]]:
    """Return the statuses and sub-statuses that a person may choose.

    The status of merged tickets is no choice. Nor is a status by itself if the ticket has a sub-status of it: the
    ticket would keep the sub-status.
    """
    choices: list[tuple[str, Any]] = []
    for status in TicketStatus.objects.prefetch_related("substatuses"):
        if not status.meaning.is_choice:
            continue
        if not (ticket and ticket.status_id == status.pk and ticket.substatus_id):
            choices.append((f"s{status.pk}", str(status)))
        choices += [(f"u{sub.pk}", f"{status} - {sub.name}") for sub in status.substatuses.all()]
    if ticket and ticket.merged_into_id:
        choices.append((f"s{ticket.status_id}", str(ticket.status)))
    return choices


def _active_choices(model: Any, kept_id: int | None, scope: Scope) -> list[tuple[str, str]]:
    """Return the active rows within the scope, and the row that the ticket has."""
    rows = model.objects.filter(Q(is_active=True) & scope.condition(model) | Q(pk=kept_id))
    return [(str(pk), name) for pk, name in rows.values_list("pk", "name")]


class QueueField(forms.TypedChoiceField):
    """A ticket queue: an active one, or the one that the ticket has."""

    def __init__(self) -> None:
        widget = UnfoldAdminSelectWidget()
        super().__init__(label=_("Ticket queue"), choices=self.choices_for, coerce=int, widget=widget)

    @staticmethod
    def choices_for(kept_id: int | None = None, scope: Scope = ALL) -> list[tuple[str, str]]:
        return _active_choices(TicketQueue, kept_id, scope)


class NamedField(forms.TypedChoiceField):
    """A category, a type or a team, or none: an active one, or the one that the ticket has."""

    def __init__(self, model: Any, label: Any) -> None:
        self.model = model
        options: dict[str, Any] = {"coerce": int, "empty_value": None, "required": False}
        super().__init__(label=label, choices=self.choices_for, widget=UnfoldAdminSelectWidget(), **options)

    def choices_for(self, kept_id: int | None = None, scope: Scope = ALL) -> list[tuple[str, Any]]:
        return [("", _("none")), *_active_choices(self.model, kept_id, ALL)]


class PriorityField(forms.ChoiceField):
    def __init__(self) -> None:
        choices = [(name, priority.label) for name, priority in PRIORITIES.items()]
        super().__init__(label=_("Priority"), choices=choices, initial="normal", widget=UnfoldAdminSelectWidget())


# Fields of a ticket whose choices depend on the scope and on what the ticket has.
CHOSEN = ("team", "agent", "queue", "category", "type")


class AgentField(forms.ChoiceField):
    """The login of an agent or none: an active agent, or the one who has the ticket."""

    def __init__(self) -> None:
        super().__init__(label=_("Agent"), choices=self.choices_for, required=False, widget=UnfoldAdminSelectWidget())

    @staticmethod
    def choices_for(kept_id: int | None = None, scope: Scope = ALL) -> list[tuple[str, Any]]:
        agents = Agent.objects.filter(Q(is_active=True) & scope.condition(Agent) | Q(pk=kept_id))
        return [("", _("no agent")), *((agent.login, str(agent)) for agent in agents)]


def offer_choices(form: forms.Form, scope: Scope) -> None:
    """Offer teams, agents, queues, categories and types within the scope."""
    for name in CHOSEN:
        if name in form.fields:
            field: Any = form.fields[name]
            field.choices = partial(field.choices_for, None, scope)


class LocalTimeInput(UnfoldAdminTextInputWidget):
    """The browser's own input of a day and a time."""

    input_type = "datetime-local"

    def format_value(self, value: Any) -> Any:
        return f"{value:%Y-%m-%dT%H:%M}" if isinstance(value, datetime) else value


class ComposerForm(forms.Form):
    """The form of a reply or a comment, and of the ticket's status afterwards."""

    fault_fields = {
        "comment": "body",
        "body_type": "body",
        "attachments": "attached",
        "recipients": "to",
        "copies": "cc",
        "status_id": "then",
        "substatus_id": "then",
    }

    # The state of the ticket, the newest message and the newest change that the page showed.
    version = forms.CharField(widget=forms.HiddenInput, required=False)
    seen = forms.IntegerField(widget=forms.HiddenInput, required=False)
    seen_change = forms.IntegerField(widget=forms.HiddenInput, required=False)
    # The editor sends HTML; without scripts, the field is plain text.
    body_type = forms.ChoiceField(
        choices=Message.BodyType.choices, widget=forms.HiddenInput, initial=Message.BodyType.PLAIN
    )
    kind = forms.ChoiceField(
        label=_("Kind"),
        choices=[
            (REPLY, _("Reply to the customer")),
            (ANSWER, _("Answered another way")),
            (COMMENT, _("Internal comment")),
        ],
    )
    to = AddressesField(label=_("To"), required=False)
    cc = AddressesField(label=_("Cc"), required=False)
    body = forms.CharField(
        label=_("Text"), max_length=LONGEST_TEXT, strip=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 8})
    )
    attached = FilesField(label=_("Attachments"), required=False)
    kept = forms.MultipleChoiceField(required=False)
    then = forms.ChoiceField(label=_("Status afterwards"), required=False, widget=UnfoldAdminSelectWidget())
    take = forms.BooleanField(label=_("Assign to me"), required=False, widget=UnfoldBooleanWidget())

    def __init__(
        self,
        *args: Any,
        kinds: Sequence[str],
        statuses: Iterable[tuple[str, Any]],
        is_html: bool,
        kept: Iterable[tuple[str, str]] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = self.fields
        own["kind"].choices = [choice for choice in own["kind"].choices if choice[0] in kinds]
        own["then"].choices = [("", _("as usual")), *statuses]
        own["kept"].choices = list(kept)
        body = self.fields["body"].widget.attrs
        body["aria-label"] = str(self.fields["body"].label)
        if is_html:
            body |= {"data-editor": "1", "data-height": "150"}

    @property
    def is_comment(self) -> bool:
        """Whether the chosen kind is a comment, which the customer does not get."""
        return bool(self["kind"].value() != REPLY)

    def clean_body(self) -> str:
        body: str = self.cleaned_data["body"].replace("\r\n", "\n")
        if "\0" in body:
            raise ValidationError(_now("The text has characters that no text has."))
        return body


class PropertiesForm(EditConflictForm, forms.Form):
    """The properties of a ticket. Only the fields that the person changed are edited."""

    # The form's name of a field -> the verb's.
    verb_names = {
        "status": "status_id",
        "team": "team_id",
        "agent": "agent_login",
        "queue": "queue_id",
        "category": "category_id",
        "type": "type_id",
        "customer": "customer_id",
    }

    status = forms.ChoiceField(label=_("Status"), widget=UnfoldAdminSelectWidget())
    team = NamedField(Team, _("Team"))
    agent = AgentField()
    priority = PriorityField()
    queue = QueueField()
    category = NamedField(TicketCategory, _("Category"))
    type = NamedField(TicketType, pgettext_lazy("of a ticket", "Type"))
    subject = forms.CharField(
        label=_("Subject"),
        max_length=500,
        widget=UnfoldAdminTextInputWidget(),
        help_text=_(
            "Replies have this subject. With a new one, the customer's mail program may begin a new conversation."
        ),
    )
    customer = forms.ModelChoiceField(label=_("Customer"), queryset=Customer.objects.all(), required=False)
    tags = forms.CharField(
        label=_("Tags"), required=False, widget=UnfoldAdminTextInputWidget(), help_text=_("Commas between them.")
    )
    postponed_until = forms.DateTimeField(label=_("Postponed until"), required=False, widget=LocalTimeInput())

    def __init__(
        self,
        ticket: Ticket,
        fields: Sequence[CustomField],
        *args: Any,
        sees_customers: bool,
        scope: Scope,
        statuses: Sequence[tuple[str, Any]],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs | {"initial": initial_of(ticket, fields)})
        own: dict[str, Any] = self.fields
        own["status"].choices = statuses
        for name in CHOSEN:
            own[name].choices = own[name].choices_for(getattr(ticket, f"{name}_id"), scope)
        if sees_customers:
            own["customer"].widget = CustomerSelect(own["customer"].choices)
        else:
            del self.fields["customer"]
        self.custom = {name_of(field): field for field in fields}
        for name, custom in self.custom.items():
            self.fields[name] = input_of(custom, self.initial[name])
        for form_field in self.fields.values():
            form_field.show_hidden_initial = True

    def clean_tags(self) -> list[str]:
        tags = tags_of(self.cleaned_data["tags"])
        if len(tags) > MAX_TAGS or any(len(tag) > LONGEST_TAG for tag in tags):
            raise ValidationError(_now("At most %(count)s tags of 100 characters.") % {"count": MAX_TAGS})
        return tags

    def values(self) -> dict[str, Any]:
        """Return the changed values by the verb's names."""
        values: dict[str, Any] = {}
        custom_fields = {}
        for name in self.changed_data:
            value = self.cleaned_data[name]
            if name in self.custom:
                custom_fields[self.custom[name].name] = value
            elif name == "status":
                values |= status_values(value)
            else:
                values[self.verb_names.get(name, name)] = value.pk if isinstance(value, Customer) else value
        return values | ({"custom_fields": custom_fields} if custom_fields else {})

    @property
    def fault_fields(self) -> Mapping[str, str]:
        """The verb's name of a field -> the form's."""
        columns = {verb_name: name for name, verb_name in self.verb_names.items()} | {"substatus_id": "status"}
        return columns | {f"custom_fields.{custom.name}": name for name, custom in self.custom.items()}


def tags_of(text: str) -> list[str]:
    return list(dict.fromkeys(tag for part in text.split(",") if (tag := part.strip())))


def status_values(choice: str) -> dict[str, int]:
    """Return the column that a choice sets: `s3` is a status, `u3` a sub-status."""
    return {"substatus_id" if choice.startswith("u") else "status_id": int(choice[1:])}


def initial_of(ticket: Ticket, fields: Sequence[CustomField]) -> dict[str, Any]:
    return {
        "status": f"u{ticket.substatus_id}" if ticket.substatus_id else f"s{ticket.status_id}",
        "team": str(ticket.team_id or ""),
        "agent": ticket.agent.login if ticket.agent else "",
        "queue": str(ticket.queue_id),
        "priority": Priority(ticket.priority).name.lower(),
        "category": str(ticket.category_id or ""),
        "type": str(ticket.type_id or ""),
        "subject": ticket.subject,
        "customer": str(ticket.customer_id or ""),
        "tags": ", ".join(ticket.tags),
        "postponed_until": ticket.rests_until,
        **{name_of(field): shown_value(field, ticket.custom_fields) for field in fields},
    }
