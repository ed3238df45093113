from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.admin import Admin, ListField, actor_of, display, never
from callcentre.admin.theme import ModelForm
from callcentre.core.errors import ErrorCode, Invalid
from tickets.models import CustomField
from tickets.models.custom_field import check_options
from tickets.verbs.custom_fields import edit_custom_field


class OptionsField(ListField):
    """The options of a choice, one a line."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 5})

    def split(self, text: str) -> list[str]:
        return [line.strip() for line in text.splitlines() if line.strip()]

    def validate(self, value: Any) -> None:
        super().validate(value)
        if any(len(line) > 200 for line in value):
            raise forms.ValidationError(_("At most %(limit)s characters.") % {"limit": 200})


class CustomFieldForm(ModelForm):
    options = OptionsField(label=_("Options"), required=False, help_text=_("Of a choice: one a line, in their order."))

    class Meta:
        model = CustomField
        fields = ("owner", "name", "type", "options", "is_required", "queues", "is_active", "order")


@admin.register(CustomField)
class CustomFieldAdmin(Admin):
    """Further fields that an operator defines for tickets and customers."""

    form = CustomFieldForm
    list_display = ("name", "owner", "type", "options_shown", "is_active", "order")
    list_display_links = ("name",)
    list_filter = ("owner", "is_active")
    search_fields = ("name",)
    fields = ("owner", "name", "type", "options", "is_required", "queues", "is_active", "order")
    fixed_fields = ("owner",)  # its values belong to rows of that owner
    has_delete_permission = never  # a field is made inactive, so that its values stay
    sentences = {ErrorCode.EMPTY: _("A choice needs options.")}

    @display(description=_("options"))
    def options_shown(self, field: CustomField) -> str:
        return ", ".join(field.options[:5]) + (" …" if len(field.options) > 5 else "")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = {name: form.cleaned_data[name] for name in form.changed_data if name != "queues"}
        if change and values:
            edit_custom_field(CustomField.objects.get(pk=obj.pk), actor_of(request), **values)
        elif not change:
            if faults := list(check_options(obj.type, obj.options)):
                raise Invalid(faults)
            super().save_model(request, obj, form, change)
