"""The vocabulary of conditions and actions on tickets: rules, macros, policies and filters use it.

A condition is stored as {"name": "queue", "operator": "is", "values": ["3"]}, an action as {"name": "priority",
"value": "high"}. Values are texts, as forms and programs send them. Each condition of a list must hold.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import F, Func, Q, TextField, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import IContains
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from telephony.models import Agent
from tickets.models.custom_field import CustomField
from tickets.models.customer import Company
from tickets.models.mail import CannedReply
from tickets.models.status import TicketCategory, TicketStatus, TicketType
from tickets.models.team import Team
from tickets.models.ticket import PRIORITIES, Priority, Source, Ticket
from tickets.models.ticket_queue import TicketQueue

Choices = Sequence[tuple[str, Any]]
Condition = Mapping[str, Any]


class Operator(StrEnum):
    IS = "is"
    IS_NOT = "is_not"
    CONTAINS = "contains"
    LACKS = "lacks"
    IS_EMPTY = "is_empty"
    HAS_VALUE = "has_value"
    # Of a rule: the change set one of the values.
    BECAME = "became"

    @property
    def takes_values(self) -> bool:
        return self not in (Operator.IS_EMPTY, Operator.HAS_VALUE)


OPERATORS = {
    Operator.IS: _("is one of"),
    Operator.IS_NOT: _("is none of"),
    Operator.CONTAINS: _("contains one of"),
    Operator.LACKS: _("contains none of"),
    Operator.IS_EMPTY: _("is empty"),
    Operator.HAS_VALUE: _("is not empty"),
    Operator.BECAME: _("became one of"),
}
_OF_CHOICE = (Operator.IS, Operator.IS_NOT, Operator.BECAME)
_OF_OPTIONAL = (*_OF_CHOICE, Operator.IS_EMPTY, Operator.HAS_VALUE)
_OF_TEXT = (Operator.CONTAINS, Operator.LACKS)
_OF_TEXTS = (Operator.IS, Operator.IS_NOT, Operator.IS_EMPTY, Operator.HAS_VALUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that a ticket has, and that conditions ask for."""

    name: str
    label: Any
    operators: tuple[Operator, ...]
    # The value in Python, which is compared, and the column of the same value in SQL.
    read: Callable[[Ticket], Any]
    column: str
    # The choices of a value, as text and label; None if any text is a value.
    choices: Callable[[], Choices] | None = None
    # A text of a condition -> what `read` and the column have.
    value: Callable[[str], Any] = str
    # The name of the changed column in the history of a ticket.
    changed: str = ""
    # A list, of which one value has to be among those of the condition.
    is_list: bool = False
    # A key of the custom fields; "" of a column.
    key: str = ""


def _rows(model: Any) -> Callable[[], Choices]:
    return lambda: [(str(row.pk), str(row)) for row in model.objects.all()]


def _company_id(ticket: Ticket) -> int | None:
    return ticket.customer.company_id if ticket.customer else None


FACTS = (
    Fact(name="queue", label=_("ticket queue"), operators=_OF_CHOICE, read=lambda t: t.queue_id, column="queue_id",
         choices=_rows(TicketQueue), value=int, changed="queue"),
    Fact(name="status", label=_("status"), operators=_OF_CHOICE, read=lambda t: t.status_id, column="status_id",
         choices=_rows(TicketStatus), value=int, changed="status"),
    Fact(name="priority", label=_("priority"), operators=_OF_CHOICE, read=lambda t: t.priority, column="priority",
         choices=lambda: [(name, rank.label) for name, rank in PRIORITIES.items()], value=PRIORITIES.__getitem__,
         changed="priority"),
    Fact(name="type", label=pgettext_lazy("of a ticket", "type"), operators=_OF_OPTIONAL, read=lambda t: t.type_id,
         column="type_id", choices=_rows(TicketType), value=int, changed="type"),
    Fact(name="category", label=_("category"), operators=_OF_OPTIONAL, read=lambda t: t.category_id,
         column="category_id", choices=_rows(TicketCategory), value=int, changed="category"),
    Fact(name="agent", label=_("agent"), operators=_OF_OPTIONAL, read=lambda t: t.agent_id, column="agent_id",
         choices=_rows(Agent), value=int, changed="agent"),
    Fact(name="team", label=_("team"), operators=_OF_OPTIONAL, read=lambda t: t.team_id, column="team_id",
         choices=_rows(Team), value=int, changed="team"),
    Fact(name="source", label=_("source"), operators=(Operator.IS, Operator.IS_NOT), read=lambda t: t.source,
         column="source", choices=lambda: Source.choices),
    Fact(name="company", label=_("company"), operators=(*_OF_OPTIONAL[:2], *_OF_OPTIONAL[3:]), read=_company_id,
         column="customer__company_id", choices=_rows(Company), value=int),
    Fact(name="tags", label=_("tags"), operators=_OF_TEXTS, read=lambda t: t.tags, column="tags", is_list=True,
         changed="tags"),
    Fact(name="subject", label=pgettext_lazy("of a mail", "subject"), operators=_OF_TEXT, read=lambda t: t.subject,
         column="subject"),
    Fact(name="sender", label=_("from"), operators=_OF_TEXT, read=lambda t: t.sender, column="sender"),
)  # fmt: skip


def facts() -> dict[str, Fact]:
    """Return all facts by name, with those of the custom fields of tickets."""
    custom = (fact_of(field) for field in CustomField.objects.of(CustomField.Owner.TICKET))
    return {fact.name: fact for fact in (*FACTS, *custom)}


def fact_of(field: CustomField) -> Fact:
    """Return what conditions ask of a custom field."""
    key, kind = str(field.pk), CustomField.Type(field.type)
    common: dict[str, Any] = {
        "name": f"field_{key}",
        "label": format_lazy(_("field “{name}”"), name=field.name),
        "column": "custom_fields",
        "key": key,
    }
    if kind in (CustomField.Type.CHOICE, CustomField.Type.CHOICES):
        return Fact(
            **common,
            operators=_OF_TEXTS,
            read=lambda ticket: ticket.custom_fields.get(key),
            choices=lambda: [(option, option) for option in field.options],
            is_list=kind == CustomField.Type.CHOICES,
        )
    if kind == CustomField.Type.BOOLEAN:
        return Fact(
            **common,
            operators=_OF_TEXTS,
            read=lambda ticket: ticket.custom_fields.get(key),
            choices=lambda: [("yes", _("yes")), ("no", _("no"))],
            value=lambda text: text == "yes",
        )
    return Fact(
        **common,
        operators=(*_OF_TEXT, Operator.IS_EMPTY, Operator.HAS_VALUE),
        read=lambda ticket: str(ticket.custom_fields.get(key, "")),
    )


Asks = Callable[[Ticket, Collection[str]], bool]
_NOTHING: tuple[Any, ...] = (None, "", [])


def _asks(fact: Fact, operator: Operator, values: tuple[Any, ...]) -> Asks:
    """Return the condition as a function of a ticket and of the names of the columns that a change has set."""
    read, column = fact.read, fact.changed
    is_among: Callable[[Any], bool] = values.__contains__
    if fact.is_list:
        chosen = frozenset(values)
        is_among = lambda value: not chosen.isdisjoint(value or ())  # noqa: E731
    match operator:
        case Operator.IS:
            return lambda ticket, changed: is_among(read(ticket))
        case Operator.IS_NOT:
            return lambda ticket, changed: not is_among(read(ticket))
        case Operator.BECAME:
            return lambda ticket, changed: column in changed and is_among(read(ticket))
        case Operator.CONTAINS:
            return lambda ticket, changed: _has_one(values, read(ticket))
        case Operator.LACKS:
            return lambda ticket, changed: not _has_one(values, read(ticket))
        case Operator.IS_EMPTY:
            return lambda ticket, changed: read(ticket) in _NOTHING
    return lambda ticket, changed: read(ticket) not in _NOTHING


def _has_one(texts: tuple[str, ...], value: str) -> bool:
    value = value.lower()
    return texts[0] in value if len(texts) == 1 else any(text in value for text in texts)


@dataclass(frozen=True, slots=True)
class Check:
    """A condition, ready to be asked of many tickets."""

    fact: Fact
    operator: Operator
    values: tuple[Any, ...]

    # Whether the condition holds for a ticket after a change of these columns: a hundred are asked at every change.
    holds: Asks

    @property
    def sql(self) -> Q:
        """The condition in SQL. What became is now."""
        match self.operator:
            case Operator.IS | Operator.BECAME:
                return self._among()
            case Operator.IS_NOT:
                return ~self._among()
            case Operator.IS_EMPTY:
                return ~self._has_value()
            case Operator.HAS_VALUE:
                return self._has_value()
        found = Q()
        for text in self.values:
            found |= Q(IContains(self._text(), text))
        return found if self.operator is Operator.CONTAINS else ~found

    def _text(self) -> Any:
        if not self.fact.key:
            return F(self.fact.column)
        # A field without a value contains nothing. A look-up by key would take the id for a place in an array.
        path = Func(F("custom_fields"), Value(self.fact.key), function="jsonb_extract_path_text")
        return Coalesce(path, Value(""), output_field=TextField())

    def _among(self) -> Q:
        if not self.fact.key:
            if self.fact.is_list:
                return Q(**{f"{self.fact.column}__overlap": list(self.values)})
            return Q(**{f"{self.fact.column}__in": self.values})
        found = Q(pk__in=[])
        for value in self.values:
            found |= Q(custom_fields__contains={self.fact.key: [value] if self.fact.is_list else value})
        return found

    def _has_value(self) -> Q:
        if self.fact.key:
            return Q(custom_fields__has_key=self.fact.key)
        return ~Q(**{self.fact.column: []}) if self.fact.is_list else ~Q(**{f"{self.fact.column}__isnull": True})


def check_of(condition: Condition, known: Mapping[str, Fact]) -> Check | None:
    """Return the check of a stored condition; None if its fact, such as a custom field, is gone."""
    fact = known.get(condition["name"])
    if fact is None:
        return None
    operator = Operator(condition["operator"])
    if operator not in fact.operators:  # the field has got another type
        return None
    texts = condition.get("values", [])
    if operator in _OF_TEXT:
        values: tuple[Any, ...] = tuple(text.lower() for text in texts)
    else:
        values = tuple(fact.value(text) for text in texts)
    return Check(fact, operator, values, _asks(fact, operator, values))


def all_hold(checks: Iterable[Check], ticket: Ticket, changed: Collection[str] = ()) -> bool:
    # A hundred rules are asked at every change: `all` with a generator takes four times as long.
    for check in checks:  # noqa: SIM110
        if not check.holds(ticket, changed):
            return False
    return True


def checks_of(conditions: Iterable[Condition], known: Mapping[str, Fact]) -> tuple[Check, ...] | None:
    """Return the checks of conditions that must all hold; None if one of them asks for something that is gone."""
    checks = [check_of(condition, known) for condition in conditions]
    return None if None in checks else tuple(check for check in checks if check)


def in_words(condition: Condition, known: Mapping[str, Fact]) -> str:
    """Return a condition as people read it."""
    fact = known.get(condition["name"])
    if fact is None:
        return str(_("a field that was removed"))
    labels = dict(fact.choices()) if fact.choices else {}
    values = ", ".join(str(labels.get(value, value)) for value in condition.get("values", []))
    return f"{fact.label} {OPERATORS[Operator(condition['operator'])]} {values}".strip()


# Actions


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something that a rule or a macro does to a ticket."""

    name: str
    label: Any
    # The choices of its value; None: a text.
    choices: Callable[[], Choices] | None = None
    # The argument of the verb `edit_ticket`, and how the value becomes it. "" of an action that writes a message.
    argument: str = ""
    value: Callable[[Ticket, Any], Any] = lambda ticket, value: value
    takes_many: bool = False


NO_AGENT, MYSELF = "none", "me"
NO_TEAM = "none"


def _people() -> Choices:
    agents = [(agent.login, str(agent)) for agent in Agent.objects.active()]
    return [(NO_AGENT, _("no agent")), (MYSELF, _("the agent who uses the macro")), *agents]


def _teams() -> Choices:
    teams = Team.objects.filter(is_active=True)
    return [(NO_TEAM, _("no team")), *((str(team.pk), str(team)) for team in teams)]


def _statuses() -> Choices:
    return [(str(row.pk), str(row)) for row in TicketStatus.objects.all() if row.meaning.is_choice]


def _canned_replies() -> Choices:
    return [(str(pk), name) for pk, name in CannedReply.objects.values_list("pk", "name")]


_DELAYS = [
    (str(hours), label)
    for hours, label in (
        (1, _("1 hour")),
        (4, _("4 hours")),
        (24, _("1 day")),
        (48, _("2 days")),
        (72, _("3 days")),
        (168, _("1 week")),
        (336, _("2 weeks")),
        (720, _("30 days")),
    )
]


def _with_tags(ticket: Ticket, tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*ticket.tags, *tags]))


def _without_tags(ticket: Ticket, tags: Sequence[str]) -> list[str]:
    return [tag for tag in ticket.tags if tag not in tags]


ACTIONS = {
    action.name: action
    for action in (
        Action(name="status", label=_("set the status"), choices=_statuses, argument="status_id"),
        Action(name="priority", label=_("set the priority"), argument="priority",
               choices=lambda: [(name, rank.label) for name, rank in PRIORITIES.items()]),
        Action(name="raise_priority", label=_("raise the priority"), argument="priority",
               choices=lambda: [("1", _("by one"))], value=lambda ticket, _value: _raised(ticket)),
        Action(name="type", label=_("set the type"), choices=_rows(TicketType), argument="type_id"),
        Action(name="category", label=_("set the category"), choices=_rows(TicketCategory), argument="category_id"),
        Action(name="queue", label=_("move to the ticket queue"), choices=_rows(TicketQueue), argument="queue_id"),
        Action(name="team", label=_("give to the team"), choices=_teams, argument="team_id",
               value=lambda ticket, value: None if value == NO_TEAM else value),
        Action(name="agent", label=_("assign to"), choices=_people, argument="agent_login"),
        Action(name="add_tags", label=_("add tags"), argument="tags", value=_with_tags, takes_many=True),
        Action(name="remove_tags", label=_("remove tags"), argument="tags", value=_without_tags, takes_many=True),
        Action(name="postpone", label=_("postpone for"), argument="postponed_until", choices=lambda: _DELAYS,
               value=lambda _ticket, hours: _later(int(hours))),
        Action(name="comment", label=_("write the comment")),
        Action(name="reply", label=_("send the canned reply"), choices=_canned_replies),
    )
}  # fmt: skip


def _later(hours: int) -> datetime:
    return (timezone.now() + timedelta(hours=hours)).replace(second=0, microsecond=0)


def _raised(ticket: Ticket) -> str:
    return Priority(min(ticket.priority + 1, Priority.URGENT)).name.lower()


def actions_in_words(actions: Mapping[str, Any]) -> list[str]:
    """Return the actions as people read them, in the order in which they are done."""
    words = []
    for name, action in ACTIONS.items():
        if name in actions:
            value = actions[name]
            labels = dict(action.choices()) if action.choices else {}
            shown = ", ".join(value) if action.takes_many else str(labels.get(value, value))
            words.append(f"{action.label}: {shown}")
    return words
