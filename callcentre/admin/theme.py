"""The base classes and decorators of the admin's theme, and Django's model form, with types.

The theme brings no types: a type checker sees Django's classes in the place of the theme's.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from unfold import decorators

if TYPE_CHECKING:
    from django import forms
    from django.contrib import admin
    from django.http import HttpRequest

    ModelForm = forms.ModelForm[Any]

    class ModelAdmin(admin.ModelAdmin[Any]):
        def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]: ...
        def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any: ...
        def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any: ...

    class TabularInline(admin.TabularInline[Any, Any]):
        def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any: ...
        def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any: ...

else:
    from django.forms import ModelForm
    from unfold.admin import ModelAdmin, TabularInline

__all__ = ["ModelAdmin", "ModelForm", "TabularInline", "column", "display", "needs", "never", "page_action"]

Function = TypeVar("Function", bound=Callable[..., Any])


def display(**options: Any) -> Callable[[Function], Function]:
    """Decorate a method that shows a value in a list or on a page."""
    return cast("Callable[[Function], Function]", decorators.display(**options))


def column(read: Callable[[Any], Any], **options: Any) -> Any:
    """Return a column of a list, or a value on a page, that `read` returns for a row."""
    return display(**options)(lambda _admin, row: read(row))


def needs(right: str) -> Any:
    """Return the check of a permission that a person with this right has."""
    return lambda _admin, request, obj=None: bool(request.user.has_perm(right))


def _refuse(_admin: Any, _request: Any, obj: Any = None) -> bool:
    return False


# The check of a permission that no person has here.
never: Any = _refuse


def page_action(**options: Any) -> Callable[[Function], Function]:
    """Decorate a method that is an action with an address of its own."""
    return cast("Callable[[Function], Function]", decorators.action(**options))
