"""The inputs of a scope, with names in place of ids. A person gives only scopes inside their own."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelect2MultipleWidget

from callcentre.core.scope import DIMENSIONS, Scope, model_of
from callcentre.models import User

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
