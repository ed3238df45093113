"""The audit log: who changed or read what, when, and from where."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, cast

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter

from callcentre.admin.base import ReadOnlyAdmin
from callcentre.admin.dates import dates_filter
from callcentre.admin.history import ACTIONS, ChangeMixin, action_label, in_words
from callcentre.admin.links import link
from callcentre.admin.lists import UncountedMixin
from callcentre.admin.rights import right_name
from callcentre.admin.theme import display
from callcentre.core.audit import AUDITED, AuditAction, AuditEntry, AuditLog, AuditLogQuerySet, histories, owner_of
from callcentre.core.changes import Change
from callcentre.core.deletions import model_name
from callcentre.core.integers import integer_of
from callcentre.core.scope import DIMENSIONS, model_of


class KindFilter(DropdownFilter):
    """Entries about one kind of object."""

    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        models = {each.model for each in AUDITED.values() if not each.part_of} | {
            owner_of(each).related_model for each in histories()
        }
        named = [(model._meta.label_lower, capfirst(str(model._meta.verbose_name))) for model in models]
        return sorted(named, key=lambda choice: choice[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(model=self.value()) if self.value() else queryset


class ObjectFilter(DropdownFilter):
    """Entries about one object, whose page links here: its kind and id."""

    title = _("object")
    parameter_name = "object"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        value = self.value() or ""
        return [(value, cast("AuditLogAdmin", model_admin).object_of(request))] if value else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        label, _colon, pk = (self.value() or "").partition(":")
        return cast("AuditLogQuerySet", queryset).of(label, pk) if pk else queryset


class ActionFilter(DropdownFilter):
    """Entries of one action."""

    title = _("action")
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        usual = [(name, ACTIONS[name]) for name in ("create", "edit")]
        return [*usual, ("delete", _("deleted")), *AuditAction.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(action=self.value()) if self.value() else queryset


@admin.register(AuditLog)
class AuditLogAdmin(ChangeMixin, UncountedMixin, ReadOnlyAdmin):
    """The one list of all changes. Each object's own page has the entries of that object."""

    date_column = ""  # its filter is the first one
    newest_by = "at"  # as the indexes of all parts of the view have it
    list_display = ("at", "actor", "actor_address", "what", "about", "details")
    list_display_links = ("at",)
    list_filter = (dates_filter("at"), KindFilter, ActionFilter, "actor_kind", ObjectFilter)
    search_fields = ("actor_name", "object_name", "object_id__exact", "actor_address__startswith")
    search_help_text = _("Name or address of the person, name or id of the object")
    fields = ("at", "actor", "actor_address", "what", "about", "details")
    action_labels = {"delete": _("deleted")} | dict(AuditAction.choices)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Show the list. That of one object names it, also without entries."""
        named = {"subtitle": self.object_of(request)} if ObjectFilter.parameter_name in request.GET else {}
        return super().changelist_view(request, {**(extra_context or {}), **named})

    def object_of(self, request: HttpRequest) -> str:
        """Return the kind and name of the object that the address has."""
        text = request.GET.get(ObjectFilter.parameter_name, "")
        label, _colon, pk = text.partition(":")
        entry = AuditLog(model=label, object_id=pk, changes={})
        model = _model(label)
        if model is AuditLog:  # its own key has no index
            entry.object_name = str(self.get_object(request, pk) or "")
        elif model in self.admin_site._registry:
            self.complete_rows([entry])
        return f"{capfirst(str(model._meta.verbose_name))} {entry.object_name or pk}" if model else text

    def complete_rows(self, rows: Sequence[AuditLog]) -> None:
        """Name the objects of parts and histories, and the rows that changes refer to, in one query a model."""
        wanted: dict[type[Model], set[str]] = defaultdict(set)
        for entry in rows:
            if (model := _model(entry.model)) and entry.object_id and not entry.object_name:
                wanted[model].add(entry.object_id)
            for column, related in _related(entry).items():
                wanted[related].update(pk for value in entry.changes[column] for pk in _ids_of(value))
        names = {model: _names_of(model, ids) for model, ids in wanted.items()}
        unnamed = [entry for entry in rows if entry.object_id and not entry.object_name]
        for entry in unnamed:
            if (model := _model(entry.model)) in names:
                entry.object_name = names[model].get(entry.object_id, "")
        _name_gone([entry for entry in unnamed if not entry.object_name])
        for entry in rows:
            entry.names = {column: names[model] for column, model in _related(entry).items()}  # type: ignore[attr-defined]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> AuditLog | None:
        """Return the entry by the id of its own table, which has an index."""
        source, _dash, row_id = object_id.rpartition("-")
        entry: AuditLog | None = self.get_queryset(request).filter(source=source, row_id=integer_of(row_id)).first()
        if entry:
            self.complete_rows([entry])
        return entry

    @display(description=_("action"))
    def what(self, change: Change) -> str:
        """Return the action in the words of the history that the entry comes from."""
        history = self._page_of(cast("AuditLog", change).source)
        labels = self.action_labels | dict(getattr(history, "action_labels", {}))
        return str(action_label(change.action, labels))

    @display(description=_("by"))
    def actor(self, entry: AuditLog) -> str:
        return self.who(entry)

    @display(description=_("object"))
    def about(self, entry: AuditLog) -> Any:
        if not (model := _model(entry.model)):
            return entry.object_name
        if not entry.object_id and hasattr(history := self._page_of(entry.source), "about_all"):
            return str(history.about_all)
        name = entry.object_name or entry.object_id or ""
        text = f"{capfirst(str(model._meta.verbose_name))} {name}".strip()
        if part := _model(entry.part):
            text = f"{text}: {part._meta.verbose_name}"
        try:
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[entry.object_id])
        except NoReverseMatch:
            return text
        is_there = entry.object_id and entry.action != "delete" and not hasattr(entry, "is_gone")
        return link(address, text) if is_there else text

    def _page_of(self, source: str) -> Any:
        """Return the admin of the history that an entry comes from, or None."""
        return self.admin_site._registry.get(cast("type[Model]", _model(source)))

    def changes_of(self, change: Change) -> list[tuple[Any, Any, Any]]:
        entry = cast("AuditLog", change)
        models = [model for label in (entry.source, entry.part or entry.model) if (model := _model(label))]
        fields = [field for model in models for field in model._meta.fields]
        names: dict[str, Any] = {name: model_name(name) for name in change.changes if _model(name)}
        names |= {field.attname: field.verbose_name for field in fields}
        names |= {field.name: field.verbose_name for field in fields}
        return [
            (names.get(name, name), *(in_words(_cut(_named(entry, name, value))) for value in values))
            for name, values in sorted(change.changes.items())
        ]


def _model(label: str) -> type[Model] | None:
    try:
        return apps.get_model(label) if label else None
    except (LookupError, ValueError):  # a model of a former release
        return None


def _related(entry: AuditLog) -> dict[str, type[Model]]:
    """Return the changed columns that hold ids of rows, with the models of these rows."""
    model = _model(entry.part or entry.model)
    models: dict[str, Any] = {column: model_of(column) for column in DIMENSIONS}
    fields = model._meta.concrete_fields if model else []
    models |= {field.attname: field.related_model for field in fields if field.related_model}
    return {column: models[column] for column in entry.changes if column in models}


def _ids_of(value: Any) -> list[str]:
    return [str(pk) for pk in (value if isinstance(value, list) else [value])]


def _names_of(model: type[Model], ids: Iterable[str]) -> dict[str, str]:
    """Return the names of rows by their ids. Leave out what is no id."""
    keys = [pk for pk in ids if _is_key(model, pk)]
    rows = model._base_manager.select_related().filter(pk__in=keys)
    return {str(row.pk): right_name(row) if isinstance(row, Permission) else str(row) for row in rows}


def _name_gone(entries: Sequence[AuditLog]) -> None:
    """Name deleted objects as the entries of their deletions do."""
    if entries:
        models, ids = ({getattr(entry, name) for entry in entries} for name in ("model", "object_id"))
        gone = AuditEntry.objects.filter(action="delete", model__in=models, object_id__in=ids)
        named = {(model, pk): name for model, pk, name in gone.values_list("model", "object_id", "object_name")}
        for entry in entries:
            entry.object_name = named.get((entry.model, entry.object_id), "")
            entry.is_gone = True  # type: ignore[attr-defined]


def _is_key(model: type[Model], text: str) -> bool:
    try:
        model._meta.pk.to_python(text)
    except ValidationError:
        return False
    return True


def _named(entry: AuditLog, column: str, value: Any) -> Any:
    """Return the names of the rows whose ids a column holds. A row that is gone keeps its id."""
    names = getattr(entry, "names", {}).get(column)
    if names is None or value is None:
        return value
    return ", ".join(names.get(pk, pk) for pk in _ids_of(value))


def _cut(value: Any) -> Any:
    return f"{value[:200]}…" if isinstance(value, str) and len(value) > 200 else value
