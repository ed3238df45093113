"""What belongs to a campaign and is edited on its page: its statuses and its fields."""

from typing import Any

from django import forms
from django.db.models import ForeignKey
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline

from campaigns.models import Campaign, CampaignField, Record, RecordStatus


class StatusForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = RecordStatus
        fields = ("name", "system_status", "dictionary_status", "order")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            # Records carry a copy of it, which the dialler reads.
            self.fields["system_status"].disabled = True


class StatusInline(TabularInline):
    model = RecordStatus
    form = StatusForm
    fields = ("name", "system_status", "dictionary_status", "order")
    extra = 0
    tab = True

    def formfield_for_foreignkey(self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if field is not None:
            field.choices = list(field.choices)  # one query, not one a row
        return field

    def get_formset(self, request: HttpRequest, obj: Campaign | None = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)
        # Django's own way to find what stands against a deletion would read every record that has the status.
        formset.form = type("StatusForm", (formset.form,), {"hand_clean_DELETE": _refuse_to_delete_what_is_in_use})
        return formset


def _refuse_to_delete_what_is_in_use(form: Any) -> None:
    status = form.instance
    if not form.cleaned_data.get(DELETION_FIELD_NAME) or status._state.adding:
        return
    in_use = Record.objects.filter(
        campaign_id=status.campaign_id, system_status=status.system_status, status_id=status.pk
    )
    if in_use.exists():
        form.add_error(None, _("Records have the status “%(status)s”: it cannot be removed.") % {"status": status.name})


class FieldInline(TabularInline):
    model = CampaignField
    fields = ("name", "order")
    extra = 0
    tab = True
    verbose_name_plural = _("fields")
