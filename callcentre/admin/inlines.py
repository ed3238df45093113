"""The base class of tables of related rows on a page."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst

from callcentre.admin.base import user_of, without_buttons
from callcentre.admin.scope import offer_within, scope_of
from callcentre.admin.theme import TabularInline
from callcentre.core.scope import within_scope


class Inline(TabularInline):
    """Related rows in a table, within the scope. The heading of a column is the label of each input in it."""

    extra = 0
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return within_scope(super().get_queryset(request), user_of(request))

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)
        offer_within(scope_of(request), formset.form.base_fields)
        return formset

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = without_buttons(super().formfield_for_dbfield(db_field, request, **kwargs))
        if field is not None:
            widget = getattr(field.widget, "widget", field.widget)
            widget.attrs.setdefault("aria-label", capfirst(str(field.label)))
        return field
