"""The scope of a back-office user: the ticket queues, call queues, campaigns and agent groups whose rows they see.

A model says in `scope_lookups` which of its columns is compared with which part of the scope. docs/decisions/0031 has
the rules. API users are programs: their rights limit them, and no scope.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from django.apps import apps
from django.db.models import Field, Model, Q, QuerySet
from django.db.models.constants import LOOKUP_SEP
from psycopg.sql import SQL, Literal

from callcentre.core.statements import Statement

# The columns of the user.
DIMENSIONS = ("scope_ticket_queues", "scope_call_queues", "scope_outbounds", "scope_agent_groups")


class Kept(NamedTuple):
    """A column with an id, and the column beside it that keeps the name when the row of the id is deleted.

    Ids are never given twice, but names are. A row belongs to none only if the name is empty.
    """

    lookup: str
    name: str


Lookups = Mapping[str, "str | Kept"]
# The lookups of a model whose rows can hold facts of any queue, campaign or group: people with a scope see none.
WITHOUT_SCOPE_ONLY: Lookups = MappingProxyType({"*": ""})
# The lookups of a model with a scope of its own in columns of the same names: people see the rows whose scope is within
# theirs. The lookups may also lead to these columns of another row.
OWN_COLUMNS: Lookups = MappingProxyType({column: column for column in DIMENSIONS})

Row = TypeVar("Row", bound=Model)
Ids = tuple[int, ...] | None


class Scoped(Protocol):
    """A back-office user, or a stored question of one."""

    @property
    def scope(self) -> "Scope": ...


@dataclass(frozen=True, slots=True)
class Scope:
    """The ids of each dimension that a person sees; None stands for all."""

    ticket_queues: Ids = None
    call_queues: Ids = None
    outbounds: Ids = None
    agent_groups: Ids = None

    @classmethod
    def of_columns(cls, row: Any) -> "Scope":
        columns = (getattr(row, column) for column in DIMENSIONS)
        return cls(*(None if ids is None else tuple(ids) for ids in columns))

    @property
    def by_column(self) -> dict[str, list[int] | None]:
        """The columns that keep the scope in a row, with their values; also the parameters of `sql`."""
        return {
            column: None if ids is None else list(ids) for column, ids in zip(DIMENSIONS, astuple(self), strict=True)
        }

    @property
    def is_all(self) -> bool:
        return self == ALL

    def includes(self, other: "Scope") -> bool:
        """Return whether each row of the other scope is in this one."""
        return all(
            own is None or (others is not None and set(others) <= set(own))
            for own, others in zip(astuple(self), astuple(other), strict=True)
        )

    def condition(self, model: type[Model], prefix: str = "") -> Q:
        """Return the condition that rows of the model are inside; `prefix` leads to them from another model."""
        lookups = lookups_of(model)
        if self.is_all:
            return Q()
        if lookups is WITHOUT_SCOPE_ONLY:
            return Q(pk__in=[])
        inside = Q()
        for column, ids in self.by_column.items():
            if ids is not None and column in lookups:
                inside &= _holds(model, lookups[column], column, ids, prefix)
        return inside

    def sql(self, model: type[Model], alias: str) -> str:
        """Return the condition for a statement as " AND …", or "". Its parameters are `by_column`."""
        lookups = lookups_of(model)
        if self.is_all:
            return ""
        if lookups is WITHOUT_SCOPE_ONLY:
            return " AND false"
        conditions = [
            _statement(model, alias, lookups[column], column)
            for column, ids in self.by_column.items()
            if ids is not None and column in lookups
        ]
        return "".join(f" AND {condition}" for condition in conditions)

    def columns_that_narrow(self, model: type[Model]) -> set[str]:
        """Return the columns of the scope that rows of the model are compared with."""
        if lookups_of(model) is WITHOUT_SCOPE_ONLY:
            return set() if self.is_all else set(DIMENSIONS)
        return {column for column, ids in self.by_column.items() if ids is not None and column in lookups_of(model)}

    def within(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        return rows if self.is_all else rows.filter(self.condition(rows.model))


ALL = Scope()


def within_scope(rows: QuerySet[Row], user: Scoped) -> QuerySet[Row]:
    """Return the rows that the user may see. Superusers and users without a scope see all."""
    return user.scope.within(rows)


def lookups_of(model: type[Model]) -> Lookups:
    """Return the lookups that the model declares. A model without them is shared by all people."""
    lookups: Lookups = getattr(model, "scope_lookups", MappingProxyType({}))
    return lookups


@cache
def model_of(column: str) -> type[Model]:
    """Return the model whose ids a column of the scope has: its lookup is the id."""
    return next(model for model in apps.get_models() if lookups_of(model).get(column) == "id")


def is_for_people_without_scope(model: type[Model]) -> bool:
    return lookups_of(model) is WITHOUT_SCOPE_ONLY


def may_see(user: Any, app: str, model: str) -> bool:
    """Return whether the user may view or change rows of a model: the admin shows them to both."""
    is_permitted = any(user.has_perm(f"{app}.{access}_{model}") for access in ("view", "change"))
    return is_permitted and (not is_for_people_without_scope(apps.get_model(app, model)) or user.scope.is_all)


def _holds(model: type[Model], lookup: str | Kept, column: str, ids: list[int], prefix: str) -> Q:
    """Return the condition of one dimension. It lets rows pass that belong to no queue, campaign or group."""
    if isinstance(lookup, str) and lookup.endswith(column):
        return Q(**{f"{prefix}{lookup}__contained_by": ids})
    if isinstance(lookup, Kept):
        name = "".join(lookup.lookup.rpartition(LOOKUP_SEP)[:2]) + lookup.name
        return Q(**{f"{prefix}{name}": ""}) | Q(**{f"{prefix}{lookup.lookup}__in": ids})
    inside = Q(**{f"{prefix}{lookup}__in": ids})
    return inside | Q(**{f"{prefix}{lookup}": None}) if _may_be_empty(model, lookup) else inside


def _statement(model: type[Model], alias: str, lookup: str | Kept, column: str) -> str:
    """Return the condition of one dimension in SQL. Each foreign key on the way becomes a subselect."""
    first, _separator, rest = (lookup.lookup if isinstance(lookup, Kept) else lookup).partition(LOOKUP_SEP)
    field = cast("Field[Any, Any]", model._meta.get_field(first))
    place = f"{alias}.{field.column}"
    if rest:
        other = cast("type[Model]", field.related_model)
        further = _statement(other, "s", lookup._replace(lookup=rest) if isinstance(lookup, Kept) else rest, column)
        inside = Statement("{place} IN (SELECT s.id FROM {db_table} s WHERE {further})").of(
            place=place, db_table=other._meta.db_table, further=further
        )
    else:
        inside = f"{place} = ANY(%({column})s::bigint[])"
        if isinstance(lookup, Kept):
            return f"({alias}.{lookup.name} = '' OR {inside})"
    return f"({place} IS NULL OR {inside})" if field.null else inside


@cache
def _may_be_empty(model: type[Model], lookup: str) -> bool:
    """Return whether a foreign key on the way of the lookup may be NULL."""
    for name in lookup.split(LOOKUP_SEP):
        field = model._meta.get_field(name)
        if getattr(field, "null", False):
            return True
        if field.is_relation:
            model = cast("type[Model]", field.related_model)
    return False


_HAS_RIGHT = Statement("""({user}.is_active AND ({user}.is_superuser OR EXISTS (
  SELECT FROM auth_permission p JOIN django_content_type c ON c.id = p.content_type_id
  WHERE c.app_label = {app} AND p.codename IN ({codenames}) AND (
    EXISTS (SELECT FROM callcentre_user_user_permissions o WHERE o.user_id = {user}.id AND o.permission_id = p.id)
    OR EXISTS (SELECT FROM callcentre_user_groups g JOIN auth_group_permissions gp ON gp.group_id = g.group_id
      WHERE g.user_id = {user}.id AND gp.permission_id = p.id)))))""")


def has_right(user: str, app: str, *codenames: str) -> str:
    """Return SQL: the user of this alias in the statement is active and has one of these permissions of the app."""
    return _HAS_RIGHT.of(user=user, app=Literal(app), codenames=SQL(", ").join(map(Literal, codenames)))
