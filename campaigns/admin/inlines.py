"""The statuses and the fields of a campaign, edited on its page."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import ForeignKey
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Inline, WeekdaysInline
from callcentre.admin.inlines import InlineFormSet
from callcentre.admin.theme import ModelForm
from callcentre.core.opening_hours import WeekdaysFormSet
from campaigns.models import Campaign, CampaignField, CampaignHours, Record, RecordStatus, RetryRule
from campaigns.verbs.retries import DEFAULTS, NEVER_RETRIED


class StatusForm(ModelForm):
    class Meta:
        model = RecordStatus
        fields = ("name", "system_status", "dictionary_status", "is_success", "is_wrong_number", "order")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            # Records have a copy of it, which the dialler reads: it stays.
            status: Any = self.fields["system_status"]
            status.disabled = True
            status.choices = [(self.instance.system_status, self.instance.get_system_status_display())]


class StatusFormSet(InlineFormSet):
    def clean(self) -> None:
        super().clean()
        if names := [str(form.instance) for form in self.deleted_forms if _is_in_use(form.instance)]:
            sentence = _("Records have this status, it cannot be removed: %(names)s.")
            raise ValidationError(sentence, params={"names": ", ".join(names)})


def _is_in_use(status: RecordStatus) -> bool:
    """Tell whether records have the status. Django's own check of a deletion would read all of them."""
    campaign_id, system_status = status.campaign_id, status.system_status
    return Record.objects.filter(campaign_id=campaign_id, system_status=system_status, status_id=status.pk).exists()


class StatusInline(Inline):
    model = RecordStatus
    formset = StatusFormSet
    form = StatusForm
    fields = ("name", "system_status", "dictionary_status", "is_success", "is_wrong_number", "order")
    tab = True

    def get_formset(self, request: HttpRequest, obj: Campaign | None = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)
        # Replaces Django's check of a deletion; ours is in the formset.
        formset.form.hand_clean_DELETE = lambda form: None
        return formset

    def formfield_for_foreignkey(self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if field is not None:
            field.choices = list(field.choices)  # one query, not one a row
        return field


class FieldInline(Inline):
    model = CampaignField
    fields = ("name", "order")
    tab = True
    verbose_name_plural = _("fields")


class HoursInline(WeekdaysInline):
    model = CampaignHours
    formset = WeekdaysFormSet
    fields = ("weekday", "begins_at", "ends_at")
    tab = True
    verbose_name_plural = _("calling hours")

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["help_text"] = _("Without a row only legal hours and holidays bind.")
        return super().formfield_for_choice_field(db_field, request, **kwargs)


def _defaults() -> str:
    """Return the rules of a campaign without rules of its own, in words."""
    rules = []
    for outcome, rule in DEFAULTS.items():
        values = {"outcome": outcome.label, "minutes": int(rule.delay.total_seconds() // 60)}
        text = _("%(outcome)s: %(minutes)s min × attempts") if rule.is_multiplied else _("%(outcome)s: %(minutes)s min")
        rules.append(str(text) % values)
    return str(_("Without a row: %(rules)s.")) % {"rules": "; ".join(rules)}


class RetryRuleInline(Inline):
    model = RetryRule
    fields = ("outcome", "status", "delay_seconds", "is_multiplied", "most_attempts")
    tab = True
    verbose_name_plural = _("retry rules")

    def get_formset(self, request: HttpRequest, obj: Campaign | None = None, **kwargs: Any) -> Any:
        vars(request)["retried_campaign"] = obj
        return super().get_formset(request, obj, **kwargs)

    def formfield_for_foreignkey(self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        statuses = RecordStatus.objects.exclude(system_status__in=NEVER_RETRIED)
        kwargs["queryset"] = statuses.filter(campaign=vars(request).get("retried_campaign"))
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        field.choices = list(field.choices)  # one query, not one a row
        return field

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the outcomes after which a record is called again."""
        kwargs["choices"] = [("", "---------"), *((one.value, one.label) for one in DEFAULTS)]
        kwargs["help_text"] = _defaults()
        return super().formfield_for_choice_field(db_field, request, **kwargs)
