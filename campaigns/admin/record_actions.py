"""Actions on many records, in a constant number of queries for each campaign."""

from collections import defaultdict
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminSplitDateTimeWidget

from callcentre.admin import Admin, actor_of
from callcentre.admin.base import MAX_SELECTED
from callcentre.admin.scope import offer_within, scope_of
from callcentre.lists.runs import run_of
from campaigns.admin.record_form import autocomplete, status_choice
from campaigns.models import DictionaryStatus, Record, RecordStatus
from campaigns.models.rules import CampaignFacts
from campaigns.verbs.record_edits import Edit, edit_records
from telephony.models import Agent


class StatusActionForm(forms.Form):
    """The choice of a status: of the campaign if all records are of one campaign, else of the dictionary."""

    agent = forms.ModelChoiceField(
        label=_("Agent"), queryset=Agent.objects.all(), required=False, help_text=_("Empty: each record keeps its own.")
    )
    next_call_at = forms.SplitDateTimeField(
        label=_("Next call"),
        required=False,
        widget=UnfoldAdminSplitDateTimeWidget(),
        help_text=_("Empty: each record keeps its own."),
    )
    field_order = ("status", "agent", "next_call_at")

    def __init__(self, campaign_ids: set[int], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_of_dictionary = len(campaign_ids) > 1
        statuses = (
            DictionaryStatus.objects.all()
            if self.is_of_dictionary
            else RecordStatus.objects.filter(campaign_id__in=campaign_ids)
        )
        choices = [("", _("Select value")), *((status.pk, str(status)) for status in statuses)]
        self.fields["status"] = status_choice(choices, label=_("Status"))
        if self.is_of_dictionary:
            self.fields["status"].help_text = _("Of the dictionary: the records belong to several campaigns.")
        self.fields["agent"].widget = autocomplete(Record, "agent", self.fields["agent"])
        self.order_fields(self.field_order)

    def values(self) -> dict[str, Any]:
        given = self.cleaned_data
        name = "dictionary_status_id" if self.is_of_dictionary else "status_id"
        values: dict[str, Any] = {name: int(given["status"])}
        if given["agent"]:
            values["agent_login"] = given["agent"].login
        if given["next_call_at"]:
            values["next_call_at"] = given["next_call_at"]
        return values


class AgentActionForm(forms.Form):
    agent = forms.ModelChoiceField(
        label=_("Agent"), queryset=Agent.objects.all(), required=False, help_text=_("Empty: no agent.")
    )

    def __init__(self, campaign_ids: set[int], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["agent"].widget = autocomplete(Record, "agent", self.fields["agent"])

    def values(self) -> dict[str, Any]:
        agent = self.cleaned_data["agent"]
        return {"agent_login": agent.login if agent else ""}


class RecordActions(Admin):
    actions = ("set_status", "assign")

    @admin.action(description=_("Set the status"), permissions=["change"])
    def set_status(self, request: HttpRequest, records: QuerySet[Record]) -> Any:
        return self._edit_selected(request, records, StatusActionForm, _now("Set the status"))

    @admin.action(description=_("Assign to an agent"), permissions=["change"])
    def assign(self, request: HttpRequest, records: QuerySet[Record]) -> Any:
        return self._edit_selected(request, records, AgentActionForm, _now("Assign to an agent"))

    def _edit_selected(self, request: HttpRequest, records: QuerySet[Record], form_type: Any, title: str) -> Any:
        selected = list(records.order_by("id")[: MAX_SELECTED + 1])
        if len(selected) > MAX_SELECTED:
            sentence = _now("At most %(count)s records at once.") % {"count": MAX_SELECTED}
            self.message_user(request, sentence, messages.ERROR)
            return None
        of_selected = {record.campaign_id for record in selected}
        campaign_ids = set(run_of(request).fact("campaigns", of_selected, _some_campaigns))
        form = form_type(campaign_ids, request.POST if "apply" in request.POST else None)
        offer_within(scope_of(request), form.fields)
        if form.is_bound and form.is_valid():
            edits = edit_selected(request, selected, form.values())
            self._report(request, edits, {record.pk: str(record) for record in selected})
            return None
        count = len(selected)
        intro = ngettext("%(count)s record is selected.", "%(count)s records are selected.", count) % {"count": count}
        return self.action_page(request, title=title, submit=title, form=form, selected=selected, intro=intro)

    def _report(self, request: HttpRequest, edits: list[tuple[int, Edit]], names: dict[int, str]) -> None:
        """Report the count of changed records and, for the others, each reason with some of the numbers."""
        refused = [(pk, edit) for pk, edit in edits if edit.faults]
        done = len(edits) - len(refused)
        run_of(request).note(sum(edit.is_change for _pk, edit in edits if not edit.faults))
        if done:
            sentence = ngettext("%(count)s record changed.", "%(count)s records changed.", done)
            self.say_done(request, sentence, done)
        reasons = [(names[pk], dict.fromkeys(map(self.sentence, edit.faults))) for pk, edit in refused]
        self.say_all_refused(request, [(name, reason) for name, sentences in reasons for reason in sentences])


def _some_campaigns(records: QuerySet[Record]) -> list[int]:
    """Return the ids of at most two campaigns of the records: a form asks whether there is one or more."""
    return list(records.order_by("campaign_id").values_list("campaign_id", flat=True).distinct()[:2])


def edit_selected(request: HttpRequest, records: list[Record], values: dict[str, Any]) -> list[tuple[int, Edit]]:
    """Edit the records by the verb. Return (id, edit with its faults) of each record."""
    by_campaign: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_campaign[record.campaign.code].append(record)
    edits = []
    for code, of_campaign in by_campaign.items():
        facts = CampaignFacts.read(code)
        if facts is None:
            continue
        batch = [Edit(record.phone_number, dict(values), record_id=record.pk) for record in of_campaign]
        edit_records(facts, actor_of(request), batch)
        edits += [(record.pk, edit) for record, edit in zip(of_campaign, batch, strict=True)]
    return edits
