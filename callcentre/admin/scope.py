"""The scope of the person at the page in lists, pages, choices, filters and in fields (docs/decisions/0031)."""

from collections.abc import Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters import admin as theme
from unfold.widgets import UnfoldAdminSelect2MultipleWidget

from callcentre.admin.theme import ModelAdmin
from callcentre.core.scope import DIMENSIONS, Scope, is_for_people_without_scope, lookups_of, model_of, within_scope
from callcentre.models import User

if TYPE_CHECKING:
    from django.contrib.admin import RelatedFieldListFilter
else:
    RelatedFieldListFilter = object


def scope_of(request: HttpRequest) -> Scope:
    return cast("User", request.user).scope


class ScopedMixin(ModelAdmin):
    """An admin that shows the rows, and offers the choices, within the scope of the person.

    Pages of other people's rows answer like those of missing rows, because `get_object` reads `get_queryset`.
    """

    # The foreign key that is empty in a setting for all queues or campaigns.
    empty_for_all = ""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return within_scope(super().get_queryset(request), cast("User", request.user))

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        offer_within(scope_of(request), form.base_fields, obj)
        if self.empty_for_all in form.base_fields and scope_of(request).columns_that_narrow(self.model):
            form.base_fields[self.empty_for_all] = field = deepcopy(form.base_fields[self.empty_for_all])
            field.required, field.help_text = True, ""
        return form

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_module_permission(request) and self._is_open(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) and self._is_open(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and self._is_open(request) and not self._would_lose(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and self._may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and self._may_touch(request, obj)

    def is_fixed(self, request: HttpRequest, obj: Any) -> bool:
        """Return whether the person may neither change nor delete this row, also with the rights to do so.

        A setting for all queues or campaigns is fixed for a person whose scope has not all of them.
        """
        is_for_all = bool(self.empty_for_all) and getattr(obj, self.empty_for_all) is None
        return is_for_all and bool(scope_of(request).columns_that_narrow(self.model))

    def _may_touch(self, request: HttpRequest, obj: Any) -> bool:
        is_row = isinstance(obj, self.model)  # the theme asks with the key of a row, too
        return self._is_open(request) and not (is_row and self.is_fixed(request, obj))

    def _would_lose(self, request: HttpRequest) -> bool:
        """Return whether a new row, such as a queue, would be outside the scope of the person who adds it."""
        narrowed = (column for column, ids in scope_of(request).by_column.items() if ids is not None)
        return any(lookups_of(self.model).get(column) == "id" for column in narrowed)

    def _is_open(self, request: HttpRequest) -> bool:
        """Return whether people with the scope of this one may use the model at all."""
        return not is_for_people_without_scope(self.model) or scope_of(request).is_all


def offer_within(scope: Scope, fields: dict[str, forms.Field], row: Model | None = None) -> None:
    """Narrow the choices of rows in the fields to the scope. The values that the row has stay choices."""
    if scope.is_all:
        return
    for name, field in fields.items():
        choices = getattr(field, "queryset", None)
        if choices is None or not lookups_of(choices.model):
            continue
        fields[name] = narrowed = deepcopy(field)  # fields of a form class are shared by all requests
        inside = scope.condition(choices.model)
        narrowed.queryset = choices.filter(inside | Q(pk__in=_present(row, name)))  # type: ignore[attr-defined]


def _present(row: Model | None, name: str) -> Iterable[Any]:
    """Return the keys of the rows that a relation of this row has now."""
    if row is None or row.pk is None:
        return []
    try:
        field = row._meta.get_field(name)
    except FieldDoesNotExist:
        return []
    if field.many_to_many:
        return list(getattr(row, name).order_by().values_list("pk", flat=True))
    return [getattr(row, field.attname)] if field.many_to_one or field.one_to_one else []  # type: ignore[union-attr]


class _NarrowedChoices(RelatedFieldListFilter):
    """The choices of a filter by a relation, within the scope."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        if (scope := scope_of(request)).is_all:
            return super().field_choices(field, request, model_admin)
        ordering = self.field_admin_ordering(field, request, model_admin)
        inside = scope.condition(field.remote_field.model)
        return field.get_choices(include_blank=False, limit_choices_to=inside, ordering=ordering)


class _NarrowedForm(theme.AutocompleteSelectFilter.form_class):
    """The select of a filter. It names a chosen row only within the scope."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        for field in self.fields.values():
            field.queryset = within_scope(field.queryset.all(), cast("User", request.user))


class RelatedDropdownFilter(_NarrowedChoices, theme.RelatedDropdownFilter):
    """A filter by a related row: a list of all of them."""


class MultipleRelatedDropdownFilter(_NarrowedChoices, theme.MultipleRelatedDropdownFilter):
    """A filter by related rows: a list of all of them."""


class AutocompleteSelectFilter(theme.AutocompleteSelectFilter):
    """A filter by a related row, found by typing."""

    form_class = _NarrowedForm


class AutocompleteSelectMultipleFilter(theme.AutocompleteSelectMultipleFilter):
    """A filter by related rows, found by typing."""

    form_class = _NarrowedForm


FIELDSET: Any = (
    _("Scope"),
    {"fields": tuple(DIMENSIONS), "description": _("The rows that the person sees. Empty: all.")},
)


class ScopeField(forms.TypedMultipleChoiceField):
    """The ids of one dimension; no choice is None, which stands for all."""

    def __init__(self, **options: Any) -> None:
        defaults = {"coerce": int, "empty_value": None, "required": False, "widget": UnfoldAdminSelect2MultipleWidget()}
        super().__init__(**{**defaults, **options})

    def offer(self, scope: Scope, column: str, chosen: Iterable[int] = ()) -> None:
        """Offer the rows within the scope of the person at the page, and chosen ones that are gone.

        A person with a scope has to choose: an empty field would give more than they see.
        """
        model = model_of(column)
        names = {row.pk: str(row) for row in scope.within(model._default_manager.all())}
        gone = {pk: _now("gone (%(id)s)") % {"id": pk} for pk in chosen if pk not in names}
        self.choices = [*names.items(), *gone.items()]
        if (own := scope.by_column[column]) is not None:
            self.required = True
            self.initial = own
            self.help_text = _("You can give only what is in your own scope.")
            self.error_messages["required"] = _("Choose at least one: you can give only what is in your own scope.")


class ScopeForm(forms.BaseForm):
    """A form with the fields of a scope. Its class has the scope of the person at the page."""

    editors_scope: Scope

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        row = getattr(self, "instance", None)
        for column in DIMENSIONS:
            if isinstance(field := self.fields.get(column), ScopeField):
                field.offer(self.editors_scope, column, getattr(row, column, None) or ())


def scope_field(column: str) -> ScopeField:
    """Return the input of a column. Its form offers the choices."""
    label = User._meta.get_field(column).verbose_name  # type: ignore[union-attr]
    return ScopeField(label=capfirst(str(label)), help_text=_("Empty: all."))
