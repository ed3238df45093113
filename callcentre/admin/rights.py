"""The rights of roles and people in words, and the rights that the service asks for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from functools import cache
from typing import Any, cast

from django import forms
from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.options import InlineModelAdmin
from django.contrib.auth.models import Permission
from django.db.models import Model, QuerySet, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.text import capfirst
from django.utils.translation import gettext as translate
from django.utils.translation import pgettext_lazy

from callcentre.admin.grant_limits import needed_permissions
from callcentre.core.scope import Scope

VERBS = {
    "view": pgettext_lazy("right", "view"),
    "add": pgettext_lazy("right", "add"),
    "change": pgettext_lazy("right", "change"),
    "delete": pgettext_lazy("right", "delete"),
}
TABLE = "admin/widgets/rights_by_area.html"


def right_name(permission: Permission) -> str:
    """Return the right as area, object and verb. A right of a model of a former release has only Django's name."""
    if (model := permission.content_type.model_class()) is None:
        return permission.name
    return f"{_area(model)} – {_right_in_area(model, permission)}"


def _right_in_area(model: type[Model], permission: Permission) -> str:
    """Return the name of one of the model's own rights, or the model and the verb."""
    if name := dict(model._meta.permissions).get(permission.codename):
        return translate(str(name))
    verb = _verb(permission)
    return f"{_rows_of(model)}: {VERBS.get(verb, verb)}"


def _verb(permission: Permission) -> str:
    return permission.codename.partition("_")[0]


def _rows_of(model: type[Model]) -> str:
    return str(capfirst(model._meta.verbose_name_plural))


def _area(model: type[Model]) -> str:
    """Return the name of the model's app. Roles are Django's, and belong to the area of the back-office users."""
    config = model._meta.app_config
    if config.name.startswith("django."):
        config = apps.get_model(settings.AUTH_USER_MODEL)._meta.app_config
    return str(capfirst(config.verbose_name))


class _Asker:
    """A user who has all rights, and notes which ones are asked for."""

    is_active = is_staff = is_authenticated = True
    is_superuser = False
    pk = 0
    scope = Scope()

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def has_perm(self, name: str, obj: Any = None) -> bool:
        self.asked.add(name)
        return True

    def has_module_perms(self, app: str) -> bool:
        return True


@cache
def asked_rights() -> Set[str]:
    """Return the permissions ("app.codename") that a page, an action or a right of the API needs.

    Each admin and each table on a page is asked whether a user may use it. Rights that a model declares itself count,
    too: code reads each of them.
    """
    request = HttpRequest()
    request.user = asker = _Asker()  # type: ignore[assignment]
    for model, page in admin.site._registry.items():
        asker.asked.add(f"{model._meta.app_label}.view_{model._meta.model_name}")
        for name in dir(page):
            if name.startswith("has_") and name.endswith("_permission"):
                getattr(page, name)(request)
    for inline in _inlines(InlineModelAdmin):
        table = inline(inline.model, admin.site)
        table.has_view_permission(request)
        table.has_add_permission(request, None)
        table.has_change_permission(request)
        if table.can_delete:
            table.has_delete_permission(request)
    own = {f"{each._meta.app_label}.{code}" for each in apps.get_models() for code, _name in each._meta.permissions}
    of_api = {codename for codenames in needed_permissions().values() for codename in codenames}
    return frozenset(asker.asked | own | of_api)


def _inlines(base: type[Any]) -> Iterator[type[Any]]:
    """Yield the classes of the tables that are for one model. Some pages choose theirs by the row."""
    for inline in base.__subclasses__():
        if getattr(inline, "model", None):
            yield inline
        yield from _inlines(inline)


def offered_rights(givable: QuerySet[Permission], held: QuerySet[Permission] | None) -> QuerySet[Permission]:
    """Return the givable permissions that the service asks for, and those that the role or person has."""
    named = Permission.objects.annotate(name_of_right=Concat("content_type__app_label", Value("."), "codename"))
    asked = named.filter(name_of_right__in=asked_rights()).values("pk")
    wanted = Permission.objects.filter(pk__in=asked)
    if held is not None:
        wanted |= Permission.objects.filter(pk__in=held.values("pk"))
    return wanted.filter(pk__in=givable.values("pk")).select_related("content_type")


class RightsTable(forms.CheckboxSelectMultiple):
    """Tables of check boxes: one table for each area, a row for each object, a column for each verb."""

    template_name = TABLE

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        held = {str(pk) for pk in value or ()}
        context: dict[str, Any] = {"name": name, "attrs": self.build_attrs(self.attrs, attrs)}
        permissions = (cast("Any", pk).instance for pk, _label in self.choices)
        return {"widget": context, **_by_area(permissions, held)}


class RightsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Rights to choose from, named in words."""

    widget = RightsTable

    def label_from_instance(self, obj: Any) -> str:
        return right_name(obj)


def shown_rights(permissions: QuerySet[Permission]) -> str:
    """Return the tables of the rights that a role or person has, for a person who may not change them."""
    held = list(permissions.select_related("content_type"))
    if not held:
        return "–"
    return render_to_string(TABLE, {**_by_area(held, {str(each.pk) for each in held}), "is_read_only": True})


def _by_area(permissions: Iterable[Permission], held: Set[str]) -> dict[str, Any]:
    """Return the rights in tables of their areas, and the rights that are of no use."""
    rows: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    own: dict[str, list[dict[str, Any]]] = defaultdict(list)
    unused: list[dict[str, Any]] = []
    for permission in permissions:
        model, box = permission.content_type.model_class(), _box(permission, held)
        if model is None or f"{permission.content_type.app_label}.{permission.codename}" not in asked_rights():
            unused.append(box)
        elif permission.codename in dict(model._meta.permissions):
            own[_area(model)].append({**box, "label": _right_in_area(model, permission)})
        else:
            rows[_area(model)][_rows_of(model)][_verb(permission)] = box
    areas = [_area_table(title, rows[title], own[title]) for title in sorted({*rows, *own}, key=str.casefold)]
    unused.sort(key=lambda box: str(box["label"]).casefold())
    return {"areas": areas, "verbs": list(VERBS.values()), "unused": unused}


def _area_table(title: str, rows: dict[str, dict[str, Any]], own: list[dict[str, Any]]) -> dict[str, Any]:
    boxes = [*own, *(box for by_verb in rows.values() for box in by_verb.values())]
    return {
        "title": title,
        "held": sum(box["is_held"] for box in boxes),
        "count": len(boxes),
        "rows": [
            {"title": name, "boxes": [by_verb.get(verb) for verb in VERBS]}
            for name, by_verb in sorted(rows.items(), key=lambda item: item[0].casefold())
        ],
        "own": own,
    }


def _box(permission: Permission, held: Set[str]) -> dict[str, Any]:
    return {"value": permission.pk, "label": right_name(permission), "is_held": str(permission.pk) in held}
