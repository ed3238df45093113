"""The runs of rules and macros.

A verb calls `after_change` at its end, in its transaction. All rules of one change see the ticket as the change left
it; those that match run in their order, each at most once. What they do starts no other rule, unless they say so. Mail
that they send is queued for a worker. If a rule cannot do all that it says, the change of the person stays, and the
history and the rule's page say why.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from telephony.models import Agent
from tickets.models.automation import Anchor, Happening, Kept, Macro, Rule, RuleRun
from tickets.models.mail import CannedReply
from tickets.models.message import Message
from tickets.models.rules import active_agent
from tickets.models.ticket import RESPONSE_IS_OWED, Source, Ticket, TicketChange
from tickets.models.vocabulary import (
    ACTIONS,
    FACTS,
    MYSELF,
    NO_AGENT,
    Check,
    Fact,
    all_hold,
    checks_of,
    facts,
    in_words,
)
from tickets.verbs.conversation import comment_on, reply_to, send_automatically
from tickets.verbs.edits import edit
from tickets.verbs.ticket_row import lock_ticket, log_ticket

# What is new about a ticket that was opened.
EVERYTHING = frozenset(fact.changed for fact in FACTS if fact.changed)
# The most tickets for which one run of a rule of time acts. The next run, a minute later, takes the rest.
MOST_AT_ONCE = 1000
# A rule about closed tickets that could not run catches up this far.
_CATCHES_UP = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ReadyRule:
    rule: Rule
    checks: tuple[Check, ...]


def ready(rules: Iterable[Rule], known: Mapping[str, Fact] | None = None) -> tuple[ReadyRule, ...]:
    """Return the rules with their checks. A rule that asks for something that is gone never matches."""
    known = facts() if known is None else known
    found = ((rule, checks_of(rule.conditions, known)) for rule in rules)
    return tuple(ReadyRule(rule, checks) for rule, checks in found if checks is not None)


Rules = Mapping[str, Sequence[ReadyRule]]


def _read_rules() -> Rules:
    """Return the rules by what starts them."""
    by_event: dict[str, list[ReadyRule]] = {}
    for each in ready(Rule.objects.filter(is_active=True, anchor="")):
        for event in each.rule.events:
            by_event.setdefault(event, []).append(each)
    return by_event


_KEPT: Kept[Rules] = Kept("token", _read_rules, {})


def after_change(ticket: Ticket, happening: Happening, changed: Collection[str] = ()) -> None:
    """Run the rules that match after something happened to a ticket, which this transaction has locked.

    `changed` has the names of the changed columns, as in the history.
    """
    _run(ticket, _KEPT.get(), happening, changed, set())


def changed_by(message: Message) -> tuple[str, ...]:
    """Return the names of the columns that a message has changed."""
    return ("status",) if message.system_comment else ()


def _run(ticket: Ticket, rules: Rules, happening: Happening, changed: Collection[str], done: set[int]) -> None:
    matching = [
        each for each in rules.get(happening, ()) if all_hold(each.checks, ticket, changed) and each.rule.pk not in done
    ]
    done.update(each.rule.pk for each in matching)
    started: set[str] = set()
    for each in matching:
        columns = _do(each, ticket, changed)
        if each.rule.starts_others:
            started |= columns
    if started:
        _run(lock_ticket(ticket), rules, Happening.CHANGED, started, done)


def _do(ready_rule: ReadyRule, ticket: Ticket, changed: Collection[str] = ()) -> set[str]:
    """Do what a rule says, and write why into the history. Return the names of the columns that it changed."""
    rule = ready_rule.rule
    actor = Actor("system", None, rule.name)
    why: dict[str, Any] = {"rule": [None, rule.name], "matched": [None, _matched(rule, ready_rule.checks, changed)]}
    columns: set[str] = set()
    trouble = ""
    try:
        with transaction.atomic():
            columns = _act(lock_ticket(ticket), actor, rule.actions, None)
    except Invalid as refused:
        trouble = " ".join(fault.in_words({}) for fault in refused.faults)[:500]
        why["trouble"] = [None, trouble]
    log_ticket(ticket, actor, "rule", why)
    if trouble != rule.trouble:
        Rule.objects.filter(pk=rule.pk).update(trouble=trouble)
    return columns


def _matched(rule: Rule, checks: Iterable[Check], changed: Collection[str]) -> str:
    """Return the conditions in words, with the changed columns that rules of changes asked for."""
    known = {check.fact.name: check.fact for check in checks}
    return "; ".join(in_words(condition, known) for condition in rule.conditions)


def _act(ticket: Ticket, actor: Actor, actions: Mapping[str, Any], agent: Agent | None) -> set[str]:
    """Do the actions of a rule, or of a macro that an agent uses."""
    values = values_of(actions, ticket, agent)
    columns = edit(ticket, actor, **values)[1] if values else set()
    if text := actions.get("comment"):
        login = agent.login if agent else ""
        comment_on(ticket, actor, agent_login=login, text=text, text_type=Message.BodyType.PLAIN)
    if pk := actions.get("reply"):
        reply = CannedReply.objects.filter(pk=pk).first()
        if reply is None:
            raise Invalid([Fault(ErrorCode.TICKET_ACTION_VALUE, params={"name": ACTIONS["reply"].label})])
        if agent:
            kind = Message.BodyType.HTML if ticket.source == Source.EMAIL else Message.BodyType.PLAIN
            text = reply.text_for(ticket, agent, kind)
            reply_to(ticket, actor, agent_login=agent.login, body=text, body_type=kind)
        else:
            send_automatically(ticket, reply.text_for(ticket, ticket.agent))
    return columns


def values_of(actions: Mapping[str, Any], ticket: Ticket, agent: Agent | None) -> dict[str, Any]:
    """Return the arguments of `edit_ticket` that the actions set. Later ones see what earlier ones have set."""
    values: dict[str, Any] = {}
    seen = Ticket(tags=ticket.tags, priority=ticket.priority)
    for name, action in ACTIONS.items():
        if name not in actions or not action.argument:
            continue
        value = action.value(seen, actions[name])
        if name == "agent":
            value = {NO_AGENT: "", MYSELF: agent.login if agent else ticket.agent_login}.get(value, value)
        if action.argument == "tags":
            seen.tags = value
        values[action.argument] = value
    return values


def use_macro(ticket: Ticket, macro: Macro, actor: Actor, agent: Agent | None) -> None:
    """Do the actions of a macro in one transaction; raise Invalid if one of them is not possible."""
    with transaction.atomic():
        ticket = lock_ticket(ticket)
        log_ticket(ticket, actor, "macro", {"macro": [None, macro.name]})
        columns = _act(ticket, actor, macro.actions, agent)
        happenings = {
            Happening.CHANGED: bool(columns),
            Happening.COMMENTED: "comment" in macro.actions,
            Happening.REPLIED: "reply" in macro.actions,
        }
        for happening, has_happened in happenings.items():
            if has_happened:
                after_change(lock_ticket(ticket), happening, columns)


class Tried(NamedTuple):
    """The effects that actions would have: entries of the history, messages, and why they are not possible."""

    changes: list[TicketChange]
    messages: list[Message]
    trouble: str


def try_actions(ticket: Ticket, name: str, actions: Mapping[str, Any]) -> Tried:
    """Do the actions, read what they did, and take it back."""
    trouble = ""
    with transaction.atomic():
        rows = TicketChange.objects.filter(ticket=ticket), Message.objects.filter(ticket=ticket)
        before = [each.aggregate(pk=Max("pk"))["pk"] or 0 for each in rows]
        try:
            with transaction.atomic():
                _act(lock_ticket(ticket), Actor("system", None, name), actions, None)
        except Invalid as refused:
            trouble = " ".join(fault.in_words({}) for fault in refused.faults)
        changes = list(TicketChange.objects.filter(ticket=ticket, pk__gt=before[0]).order_by("pk"))
        messages = list(Message.objects.filter(ticket=ticket, pk__gt=before[1]).order_by("pk"))
        transaction.set_rollback(True)
    return Tried(changes, messages, trouble)


def use_macro_of(
    ticket: Ticket, actor: Actor, faults: Sequence[Fault] = (), *, macro_id: int | None = None, agent_login: str = ""
) -> None:
    """Use the macro with this id, by the active agent with this login."""
    faults = list(faults)
    agent = active_agent(agent_login, faults)
    macro = Macro.objects.filter(pk=macro_id, is_active=True).first() if macro_id else None
    if macro is None and macro_id is not None:
        faults.append(Fault(ErrorCode.MACRO_NOT_FOUND, "macro_id"))
    if faults or macro is None:
        raise Invalid(faults)
    use_macro(ticket, macro, actor, agent)


def offered_macros(ticket: Ticket) -> list[Macro]:
    """Return the active macros whose conditions hold for the ticket."""
    macros = list(Macro.objects.filter(is_active=True))
    known = facts() if macros else {}
    found = ((macro, checks_of(macro.conditions, known)) for macro in macros)
    return [macro for macro, checks in found if checks is not None and all_hold(checks, ticket)]


# Rules of time


def run_due(rule: Rule) -> None:
    """Run a rule of time for the tickets whose time has come, each in a transaction of its own."""
    (each,) = ready([rule]) or (None,)
    if each is None:
        return
    for pk in list(due_tickets(each, timezone.now()).values_list("pk", flat=True)[:MOST_AT_ONCE]):
        with transaction.atomic():
            try:
                ticket = lock_ticket(Ticket(pk=pk))
            except Conflict:  # it was deleted meanwhile
                continue
            at = _time_of(rule, ticket)
            if at is None or RuleRun.objects.filter(rule=rule, ticket=ticket, anchored_at=at).exists():
                continue
            if not all_hold(each.checks, ticket):
                continue
            RuleRun.objects.update_or_create(rule=rule, ticket=ticket, defaults={"anchored_at": at})
            columns = _do(each, ticket)
            if columns and rule.starts_others:
                _run(lock_ticket(ticket), _KEPT.get(), Happening.CHANGED, columns, set())


def due_tickets(each: ReadyRule, now: datetime) -> "QuerySet[Ticket]":
    """Return the tickets whose time has come and for which the rule has not run since, the first ones first."""
    rule = each.rule
    delay, anchor = timedelta(minutes=rule.after_minutes or 0), rule.anchor
    tickets = Ticket.objects.filter(**{f"{anchor}__lte": now - delay, f"{anchor}__gt": rule.since - delay})
    if anchor == Anchor.CLOSED:
        oldest = now - delay - _CATCHES_UP
        tickets = tickets.filter(closed_at__gt=oldest, updated_at__gt=oldest)
    else:
        tickets = tickets.filter(closed_at=None)
    if anchor == Anchor.RESPONSE:
        tickets = tickets.filter(RESPONSE_IS_OWED)
    for check in each.checks:
        tickets = tickets.filter(check.sql)
    ran = RuleRun.objects.filter(rule=rule, ticket=OuterRef("pk"), anchored_at=OuterRef(anchor))
    return tickets.filter(~Exists(ran)).order_by(anchor, "pk")


def _time_of(rule: Rule, ticket: Ticket) -> datetime | None:
    at: datetime | None = getattr(ticket, rule.anchor)
    return at
