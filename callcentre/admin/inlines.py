"""The base class of tables of related rows on a page."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.widgets import AutocompleteSelect
from django.db.models import Model, QuerySet
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.text import capfirst

from callcentre.admin.base import user_of, without_buttons
from callcentre.admin.scope import offer_within, scope_of
from callcentre.admin.theme import TabularInline
from callcentre.core.opening_hours import SEVERAL_DAYS, HoursFormSet, WeekdaysFormSet
from callcentre.core.scope import within_scope


class ChosenRowSelect(AutocompleteSelect):
    """A choice by typing that has its chosen row already, so that a table does not read it once more for each line."""

    chosen: Model | None = None

    def optgroups(self, name: str, value: Sequence[str], attr: Any = None) -> Any:
        if self.chosen is None or list(value) != [str(self.chosen.pk)]:
            return super().optgroups(name, value, attr)
        return [(None, [self.create_option(name, value[0], str(self.chosen), True, 0)], 0)]


class InlineFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    @cached_property
    def empty_form(self) -> Any:
        """The form of a row to add. The page asks for it many times."""
        return super().empty_form

    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        for name, field in form.fields.items():
            if isinstance(field.widget, ChosenRowSelect) and form.instance.pk:
                field.widget.chosen = getattr(form.instance, name)


class Inline(TabularInline):
    """Related rows in a table, within the scope. The heading of a column is the label of each input in it."""

    extra = 0
    hide_title = True
    formset: type[BaseInlineFormSet] = InlineFormSet  # type: ignore[type-arg]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return within_scope(super().get_queryset(request), user_of(request))

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)
        offer_within(scope_of(request), formset.form.base_fields)
        return formset

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in self.autocomplete_fields:
            kwargs["widget"] = ChosenRowSelect(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = without_buttons(super().formfield_for_dbfield(db_field, request, **kwargs))
        if field is not None:
            field.widget.attrs.setdefault("aria-label", capfirst(str(field.label)))
        return field


class WeekdaysInline(Inline):
    """Hours of days of the week. One row may fill several days."""

    formset: type[WeekdaysFormSet] = HoursFormSet

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "weekday":
            kwargs["choices"] = [("", "---------"), *SEVERAL_DAYS.items(), *db_field.choices]
        return super().formfield_for_choice_field(db_field, request, **kwargs)
