"""The runs of rules and macros.

A verb calls `after_change` at its end, in its transaction. All rules of one change see the ticket as the change left
it; those that match run in their order, each at most once. What they do starts no other rule, unless they say so. Mail
that they send is queued for a worker. If a rule cannot do all that it says, the change of the person stays, and the
history and the rule's page say why.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import DataError, transaction
from django.db.models import DateTimeField, Exists, Max, OuterRef, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from callcentre.core.actor import Actor
from callcentre.core.changes import actor_columns
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from telephony.models import Agent
from tickets.models.automation import Anchor, Happening, Kept, Macro, Rule, RuleRun
from tickets.models.mail import CannedReply
from tickets.models.message import Message
from tickets.models.rules import active_agent
from tickets.models.ticket import PRIORITIES, RESPONSE_IS_OWED, Source, Ticket, TicketChange
from tickets.models.vocabulary import (
    ACTIONS,
    FACTS,
    MYSELF,
    NO_AGENT,
    Check,
    all_hold,
    checks_of,
    facts,
    in_words,
)
from tickets.verbs.automatic_mail import may_be_answered, take_turn
from tickets.verbs.conversation import comment_on, reply_to, send_automatically
from tickets.verbs.edits import edit
from tickets.verbs.ticket_row import lock_ticket, log_ticket

# What is new about a ticket that was opened.
EVERYTHING = frozenset(fact.changed for fact in FACTS if fact.changed)
# The most tickets for which one run of a rule of time acts. The next run, a minute later, takes the rest.
MOST_AT_ONCE = 1000
# A rule about closed tickets that could not run catches up this far.
_CATCHES_UP = timedelta(days=1)
# `Ticket.waiting_since` in SQL.
_WAITING_SINCE = RawSQL(
    "CASE WHEN cardinality(waits) %% 2 = 1 THEN waits[cardinality(waits)] END", (), output_field=DateTimeField()
)


@dataclass(frozen=True, slots=True)
class ReadyRule:
    rule: Rule
    checks: tuple[Check, ...]
    # The conditions in words, as the history has them.
    words: str


def ready(rules: Iterable[Rule]) -> list[ReadyRule]:
    """Return the rules with their checks. A rule that asks for something that is gone never matches."""
    with override(settings.LANGUAGE_CODE):
        known = facts()
        return [
            ReadyRule(rule, checks, "; ".join(in_words(condition, known) for condition in rule.conditions))
            for rule in rules
            if (checks := checks_of(rule.conditions, known)) is not None
        ]


Rules = Mapping[str, Sequence[ReadyRule]]


def _read_rules() -> Rules:
    """Return the rules by what starts them."""
    by_event: dict[str, list[ReadyRule]] = {}
    for each in ready(Rule.objects.filter(is_active=True, anchor="")):
        for event in each.rule.events:
            by_event.setdefault(event, []).append(each)
    return by_event


_KEPT: Kept[Rules] = Kept("token", _read_rules, {})


def after_change(ticket: Ticket, *happenings: Happening, changed: Collection[str] = ()) -> None:
    """Run the rules that match after something happened to a ticket, which this transaction has locked.

    `changed` has the names of the changed columns, as in the history.
    """
    _run(ticket, _KEPT.get(), happenings, changed, set())


def after_message(message: Message, happening: Happening) -> None:
    """Run the rules after a message. One that has changed the status is a change, too."""
    if message.system_comment:
        after_change(message.ticket, happening, Happening.CHANGED, changed={"status"})
    else:
        after_change(message.ticket, happening)


def _run(
    ticket: Ticket, rules: Rules, happenings: Sequence[Happening], changed: Collection[str], done: set[int]
) -> None:
    matching: dict[int, ReadyRule] = {}
    for happening in happenings:
        for each in rules.get(happening, ()):
            if all_hold(each.checks, ticket, changed) and each.rule.pk not in done:
                matching[each.rule.pk] = each
    done.update(matching)
    started: set[str] = set()
    for each in sorted(matching.values(), key=lambda each: (each.rule.order, each.rule.pk)):
        columns = _do(each, ticket)
        if each.rule.starts_others:
            started |= columns
    if started:
        _run(lock_ticket(ticket), rules, [Happening.CHANGED], started, done)


def _do(each: ReadyRule, ticket: Ticket) -> set[str]:
    """Do what a rule says, and write why into the history. Return the names of the columns that it changed."""
    rule = each.rule
    actor = Actor("system", None, rule.name)
    why: dict[str, Any] = {"rule": [None, rule.name], "matched": [None, each.words]}
    done = _Done()
    with override(settings.LANGUAGE_CODE):
        try:
            with transaction.atomic():
                done = _act(lock_ticket(ticket), actor, rule.actions, None)
            trouble = done.left_out
        except Invalid as refused:
            trouble = " ".join(fault.in_words({}) for fault in refused.faults)[:500]
        except DataError as error:  # a value that no column can hold
            trouble = str(error)[:500]
    if trouble:
        why["trouble"] = [None, trouble]
    log_ticket(ticket, actor, "rule", why)
    # Most runs change nothing here, and wait for no other run.
    Rule.objects.filter(pk=rule.pk).exclude(trouble=trouble).update(trouble=trouble)
    return done.columns


@dataclass(slots=True)
class _Done:
    columns: set[str] = field(default_factory=set)
    # Why a mail was not sent.
    left_out: str = ""


def _act(ticket: Ticket, actor: Actor, actions: Mapping[str, Any], agent: Agent | None) -> _Done:
    """Do the actions of a rule, or of a macro that an agent uses. The status is set after the reply, which moves it."""
    done = _Done()
    values = values_of(actions, ticket, agent)
    if pk := actions.get("reply"):
        reply = CannedReply.objects.filter(pk=pk).first()
        if reply is None:
            raise Invalid([Fault(ErrorCode.TICKET_ACTION_VALUE, params={"name": ACTIONS["reply"].label})])
        done.left_out = _send(ticket, actor, reply, agent)
    if values:
        done.columns = edit(ticket, actor, author=agent, **values)[1]
    if text := actions.get("comment"):
        login = agent.login if agent else ""
        comment_on(ticket, actor, agent_login=login, text=text, text_type=Message.BodyType.PLAIN)
    return done


def _send(ticket: Ticket, actor: Actor, reply: CannedReply, agent: Agent | None) -> str:
    """Send a canned reply of the agent, or an automatic mail. Return why the customer gets none."""
    if agent:
        kind = Message.BodyType.HTML if ticket.source == Source.EMAIL else Message.BodyType.PLAIN
        text = reply.text_for(ticket, agent, kind)
        reply_to(ticket, actor, agent_login=agent.login, body=text, body_type=kind)
    elif may_be_answered(ticket) and take_turn(ticket):
        send_automatically(ticket, reply.text_for(ticket, ticket.agent))
    else:
        return _("The customer gets no automatic mail: a machine reads the address, or it got one within the hour.")
    return ""


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
        if action.argument == "priority":
            seen.priority = PRIORITIES[value]
        values[action.argument] = value
    return values


def use_macro(
    ticket: Ticket, macro: Macro, actor: Actor, agent: Agent | None, *, unless_after: int | None = None
) -> bool:
    """Do the actions of a macro in one transaction. Raise Invalid if one is impossible, or it is for other tickets.

    Return False, and do nothing, if this person has used it after the change `unless_after`: a button pressed twice.
    """
    with transaction.atomic():
        ticket = lock_ticket(ticket)
        if unless_after is not None:
            since = TicketChange.objects.filter(ticket=ticket, pk__gt=unless_after, action="macro")
            if since.filter(changes__macro=[None, macro.name], **actor_columns(actor)).exists():
                return False
        if macro not in offered_macros(ticket, agent):
            raise Invalid([Fault(ErrorCode.MACRO_NOT_FOUND, "macro_id")])
        status_id = ticket.status_id
        log_ticket(ticket, actor, "macro", {"macro": [None, macro.name]})
        columns = _act(ticket, actor, macro.actions, agent).columns
        ticket = lock_ticket(ticket)
        if ticket.status_id != status_id:
            columns = {*columns, "status"}
        happenings = {
            Happening.CHANGED: bool(columns),
            Happening.COMMENTED: "comment" in macro.actions,
            Happening.REPLIED: "reply" in macro.actions,
        }
        after_change(ticket, *(each for each, has_happened in happenings.items() if has_happened), changed=columns)
    return True


class Tried(NamedTuple):
    """The effects that actions would have: entries of the history, messages, and why they are not possible."""

    changes: list[TicketChange]
    messages: list[Message]
    trouble: str


def try_actions(ticket: Ticket, name: str, actions: Mapping[str, Any], agent: Agent | None = None) -> Tried:
    """Do the actions, read what they did, and take it back."""
    trouble = ""
    with transaction.atomic():
        rows = TicketChange.objects.filter(ticket=ticket), Message.objects.filter(ticket=ticket)
        before = [each.aggregate(pk=Max("pk"))["pk"] or 0 for each in rows]
        try:
            with transaction.atomic():
                trouble = _act(lock_ticket(ticket), Actor("system", None, name), actions, agent).left_out
        except Invalid as refused:
            trouble = " ".join(fault.in_words({}) for fault in refused.faults)
        changes = list(TicketChange.objects.filter(ticket=ticket, pk__gt=before[0]).order_by("pk"))
        messages = list(Message.objects.filter(ticket=ticket, pk__gt=before[1]).order_by("pk"))
        transaction.set_rollback(True)
    return Tried(changes, messages, trouble)


def use_macro_of(
    ticket: Ticket,
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    macro_id: int | None = None,
    agent_login: str = "",
    unless_after: int | None = None,
) -> bool:
    """Use the macro with this id, by the active agent with this login, as `use_macro` says."""
    faults = list(faults)
    agent = active_agent(agent_login, faults)
    macro = Macro.objects.filter(pk=macro_id, is_active=True).first() if macro_id else None
    if macro is None and macro_id is not None:
        faults.append(Fault(ErrorCode.MACRO_NOT_FOUND, "macro_id"))
    if faults or macro is None:
        raise Invalid(faults)
    return use_macro(ticket, macro, actor, agent, unless_after=unless_after)


def offered_macros(ticket: Ticket, agent: Agent | None) -> list[Macro]:
    """Return the active macros whose conditions hold. A person without an agent neither replies nor takes tickets."""
    macros = [
        macro
        for macro in Macro.objects.filter(is_active=True)
        if agent or not ("reply" in macro.actions or macro.actions.get("agent") == MYSELF)
    ]
    known = facts() if macros else {}
    found = ((macro, checks_of(macro.conditions, known)) for macro in macros)
    return [macro for macro, checks in found if checks is not None and all_hold(checks, ticket)]


# Rules of time


def run_due(rule: Rule) -> None:
    """Run a rule of time for the tickets whose time has come, each in a transaction of its own."""
    for each in ready([rule]):
        for pk in list(due_tickets(each, timezone.now()).values_list("pk", flat=True)[:MOST_AT_ONCE]):
            with suppress(Conflict), transaction.atomic():  # it may have been deleted meanwhile
                _run_for(each, lock_ticket(Ticket(pk=pk)))


def _run_for(each: ReadyRule, ticket: Ticket) -> None:
    """Run a rule of time for a ticket, unless its time has changed meanwhile."""
    rule = each.rule
    if not due_tickets(each, timezone.now()).filter(pk=ticket.pk).exists():
        return
    columns: set[str] = set()
    if has_run := all_hold(each.checks, ticket):
        columns = _do(each, ticket)
        ticket = lock_ticket(ticket)
    # The time as the rule has left it: what a rule changes is no reason to run it again.
    RuleRun.objects.update_or_create(
        rule=rule, ticket=ticket, defaults={"anchored_at": getattr(ticket, rule.anchor) or timezone.now()}
    )
    if has_run:
        others = RuleRun.objects.filter(ticket=ticket, rule__anchor=Anchor.UPDATED)
        others.update(anchored_at=ticket.updated_at)
    if columns and rule.starts_others:
        _run(ticket, _KEPT.get(), [Happening.CHANGED], columns, {rule.pk})


def due_tickets(each: ReadyRule, now: datetime) -> "QuerySet[Ticket]":
    """Return the tickets whose time has come and for which the rule has not run since, the first ones first."""
    rule = each.rule
    delay, anchor = timedelta(minutes=rule.after_minutes or 0), rule.anchor
    tickets = Ticket.objects.all()
    if anchor == Anchor.WAITING:
        tickets = tickets.annotate(**{anchor: _WAITING_SINCE})
    tickets = tickets.filter(**{f"{anchor}__lte": now - delay, f"{anchor}__gt": rule.since - delay})
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
