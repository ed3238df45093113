"""Rules and macros: what starts them, what they see, what they do, what they write into the history."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from callcentre.core import deletions
from callcentre.core.actor import SYSTEM
from callcentre.core.errors import Invalid
from tests.backoffice import inputs_of, messages_of, page_of, superuser
from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import (
    CannedReplyFactory,
    CustomFieldFactory,
    DeadlineNoticeFactory,
    MacroFactory,
    RuleFactory,
    RuleRunFactory,
    TicketFactory,
    TicketQueueFactory,
)
from tickets.models import Dispatch, Message, Rule, RuleRun, Ticket, TicketChange, TicketStatus
from tickets.models.ticket import Priority
from tickets.verbs.automation import _run_for, offered_macros, ready, run_due, try_actions, use_macro
from tickets.verbs.messages import comment_on, receive_message, reply_to
from tickets.verbs.tickets import edit_ticket, open_ticket

pytestmark = pytest.mark.django_db


def is_high(operator: str = "is") -> list[dict[str, Any]]:
    return [{"name": "priority", "operator": operator, "values": ["high"]}]


def rule_runs(ticket: Ticket) -> list[str]:
    return [change.changes["rule"][1] for change in TicketChange.objects.filter(ticket=ticket, action="rule")][::-1]


def closed() -> str:
    return str(TicketStatus.objects.get(kind="closed").pk)


def received(ticket: Ticket) -> object:
    return receive_message(ticket, SYSTEM, body="x", body_type="PLAIN")


@pytest.mark.parametrize(
    ("events", "act"),
    [
        (["received"], received),
        # A reply that moves the status is a change, too.
        (["replied", "changed"], lambda ticket: reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="x")),
        (["commented"], lambda ticket: comment_on(ticket, ACTOR, agent_login=AgentFactory().login, text="x")),
        (["changed"], lambda ticket: edit_ticket(ticket, ACTOR, subject="other")),
    ],
)
def test_a_rule_runs_after_its_event_and_no_other(events: list[str], act: Callable[[Ticket], object]) -> None:
    for name in ("opened", "received", "replied", "commented", "changed"):
        RuleFactory(name=name, events=[name])
    ticket = TicketFactory()

    act(ticket)

    assert rule_runs(ticket) == events
    assert Ticket.objects.get().tags == ["ruled"]


def test_a_new_ticket_has_every_value_new() -> None:
    RuleFactory(events=["opened"], conditions=is_high("became"))
    TicketQueueFactory()

    plain, high = (open_ticket(ACTOR, subject="s", body="b", priority=name).ticket for name in ("", "high"))

    assert [Ticket.objects.get(pk=ticket.pk).tags for ticket in (plain, high)] == [[], ["ruled"]]


def test_automatic_messages_start_no_rule() -> None:
    RuleFactory(events=["received", "opened"])
    ticket = TicketFactory()

    receive_message(ticket, SYSTEM, body="I am away.", body_type="PLAIN", is_automatic=True)

    assert Ticket.objects.get().tags == []


def test_rules_see_the_ticket_as_the_change_left_it_and_run_in_their_order() -> None:
    RuleFactory(name="second", order=2, conditions=is_high(), actions={"priority": "urgent", "add_tags": ["b"]})
    RuleFactory(name="first", order=1, conditions=is_high(), actions={"priority": "low", "add_tags": ["a"]})
    RuleFactory(name="never", conditions=[{"name": "priority", "operator": "is", "values": ["low"]}])
    ticket = TicketFactory()

    edit_ticket(ticket, ACTOR, priority="high")

    ticket.refresh_from_db()
    assert (ticket.priority, ticket.tags) == (Priority.URGENT, ["a", "b"])
    assert rule_runs(ticket) == ["first", "second"]


def test_a_rule_starts_others_only_if_it_says_so_and_each_runs_once() -> None:
    one = RuleFactory(name="one", conditions=is_high("became"), actions={"priority": "low"})
    RuleFactory(name="two", conditions=[{"name": "priority", "operator": "became", "values": ["low"]}],
                actions={"priority": "high"}, starts_others=True)  # fmt: skip
    quiet, chained = TicketFactory(), TicketFactory()

    edit_ticket(quiet, ACTOR, priority="high")
    one.starts_others = True
    one.save()
    edit_ticket(chained, ACTOR, priority="high")

    assert (rule_runs(quiet), rule_runs(chained)) == (["one"], ["one", "two"])
    chained.refresh_from_db()
    assert chained.priority == Priority.HIGH


def test_the_history_says_which_rule_ran_and_why() -> None:
    RuleFactory(name="Escalate", conditions=is_high("became"), actions={"comment": "Look at it."})
    ticket = TicketFactory()

    edit_ticket(ticket, ACTOR, priority="high")

    run = TicketChange.objects.get(action="rule")
    assert (run.actor_name, run.changes) == (
        "Escalate",
        {"rule": [None, "Escalate"], "matched": [None, "priority became one of high"]},
    )
    assert Message.objects.get().comment == "Look at it."


def test_a_rule_that_cannot_do_all_leaves_the_change_and_says_so() -> None:
    CustomFieldFactory(name="Reason", is_required=True)
    rule = RuleFactory(actions={"status": closed(), "add_tags": ["x"]})
    ticket = TicketFactory()

    edit_ticket(ticket, ACTOR, subject="other")

    ticket.refresh_from_db()
    rule.refresh_from_db()
    assert (ticket.subject, ticket.tags, ticket.closed_at) == ("other", [], None)
    assert rule.trouble == 'Custom field "Reason" must have a value before the ticket is closed.'
    assert TicketChange.objects.get(action="rule").changes["trouble"] == [None, rule.trouble]


def test_a_rule_sends_a_canned_reply_by_a_worker_which_counts_as_no_response() -> None:
    reply = CannedReplyFactory(body="<p>Dear {{ customer_name }}</p>")
    RuleFactory(actions={"reply": str(reply.pk)})
    ticket = TicketFactory(sender_name="Jan")

    edit_ticket(ticket, ACTOR, subject="other")

    message = Message.objects.get()
    ticket.refresh_from_db()
    assert (message.body, message.is_automatic, ticket.first_agent_responded_at) == ("<p>Dear Jan</p>", True, None)
    assert Dispatch.objects.get().recipients == ["jan@client.example"]


def test_a_changed_rule_counts_at_once_and_a_removed_one_no_more() -> None:
    rule, ticket = RuleFactory(), TicketFactory()
    edit_ticket(ticket, ACTOR, subject="1")
    rule.actions = {"add_tags": ["other"]}
    rule.save()
    edit_ticket(ticket, ACTOR, subject="2")
    rule.delete()
    edit_ticket(ticket, ACTOR, subject="3", tags=[])

    assert rule_runs(ticket) == [rule.name] * 2
    assert Ticket.objects.get().tags == []


def test_a_hundred_rules_that_do_not_match_cost_one_statement() -> None:
    ticket = TicketFactory()
    RuleFactory.create_batch(100, events=["commented"], conditions=is_high())
    login = AgentFactory().login
    comment_on(ticket, ACTOR, agent_login=login, text="x")

    with CaptureQueriesContext(connection) as captured:
        comment_on(ticket, ACTOR, agent_login=login, text="x")

    assert len([query for query in captured.captured_queries if "SELECT token" in query["sql"]]) == 1
    assert not [query for query in captured.captured_queries if "tickets_rule" in query["sql"]]


# Rules of time


def test_a_rule_of_time_runs_once_for_each_time_of_a_ticket() -> None:
    now = timezone.now()
    rule = RuleFactory(timed=True, anchor="awaiting_since", since=now - timedelta(days=9))
    late, fresh, answered = (
        TicketFactory(awaiting_since=at) for at in (now - timedelta(hours=2), now - timedelta(minutes=30), None)
    )

    run_due(rule)
    run_due(rule)
    Ticket.objects.filter(pk=late.pk).update(tags=[], awaiting_since=now - timedelta(minutes=90))
    run_due(rule)

    assert [rule_runs(ticket) for ticket in (late, fresh, answered)] == [[rule.name] * 2, [], []]
    assert Ticket.objects.get(pk=late.pk).tags == ["ruled"]
    assert RuleRun.objects.count() == 1


@pytest.mark.parametrize(("minutes", "expected"), [(-60, True), (-10, False), (0, False)])
def test_a_rule_before_a_due_time(minutes: int, expected: bool) -> None:
    now = timezone.now()
    rule = RuleFactory(timed=True, anchor="response_due_at", after_minutes=minutes, since=now - timedelta(days=9))
    ticket = TicketFactory(response_due_at=now + timedelta(minutes=30))

    run_due(rule)

    assert bool(rule_runs(ticket)) is expected


def test_a_rule_of_time_leaves_tickets_whose_time_came_before_it_and_closed_ones() -> None:
    now = timezone.now()
    rule = RuleFactory(timed=True, since=now - timedelta(minutes=5))
    before = TicketFactory(created_at=now - timedelta(hours=3))
    closed = TicketFactory(created_at=now - timedelta(minutes=61), closed_at=now)
    after = TicketFactory(created_at=now - timedelta(minutes=61))

    run_due(rule)

    assert [rule_runs(ticket) for ticket in (before, closed, after)] == [[], [], [rule.name]]


def test_a_rule_that_a_page_made_is_started_by_the_sweep() -> None:
    response = superuser().post(
        "/admin/tickets/rule/add/",
        {"name": "Escalate", "order": 5, "is_active": "on", "anchor": "awaiting_since", "after_minutes": "60",
         "if_priority": "is", "of_priority": ["high"], "do_priority": "urgent", "do_comment": "Look."},
    )  # fmt: skip

    assert response.status_code == 302, response.context["errors"]
    rule = Rule.objects.get()
    assert rule.conditions == [{"name": "priority", "operator": "is", "values": ["high"]}]
    assert rule.actions == {"priority": "urgent", "comment": "Look."}


# Macros


def test_a_macro_does_all_its_actions_or_none(api: ApiClient) -> None:
    agent, ticket = AgentFactory(), TicketFactory()
    macro = MacroFactory(actions={"priority": "high", "agent": "me", "comment": "Mine."})
    path = f"/api/tickets/{ticket.pk}/macro"

    assert api.post(path, {"macro_id": macro.pk, "user_login": agent.login}).status_code == 204
    ticket.refresh_from_db()
    assert (ticket.priority, ticket.agent, Message.objects.get().comment) == (Priority.HIGH, agent, "Mine.")

    CustomFieldFactory(name="Reason", is_required=True)
    macro.actions = {"comment": "Again.", "status": closed()}
    macro.save()
    assert api.post(path, {"macro_id": macro.pk}).status_code == 400
    assert api.post(path, {"macro_id": 0}).json()["errors"][0]["code"] == 150027
    assert Message.objects.count() == 1


def test_macros_are_offered_for_tickets_that_meet_their_conditions() -> None:
    any_, high = MacroFactory(), MacroFactory(conditions=is_high())
    MacroFactory(is_active=False)

    assert offered_macros(TicketFactory(), None) == [any_]
    assert offered_macros(TicketFactory(priority=3), None) == [any_, high]


def test_trying_changes_nothing() -> None:
    ticket = TicketFactory()

    tried = try_actions(ticket, "New rule", {"priority": "high", "comment": "x"})

    assert [change.changes for change in tried.changes] == [{"priority": [2, 3]}]
    assert ([message.comment for message in tried.messages], tried.trouble) == (["x"], "")
    assert (Ticket.objects.get().priority, TicketChange.objects.count(), Message.objects.count()) == (2, 0, 0)


def test_a_ticket_is_deleted_with_what_rules_and_deadlines_know_of_it() -> None:
    run = RuleRunFactory()
    DeadlineNoticeFactory(ticket=run.ticket)

    deletions.run(deletions.Deletion.ask(ACTOR, "ticket", run.ticket, "on request").pk)

    assert not Ticket.objects.exists()
    assert Rule.objects.exists()


def test_a_rule_of_replies_runs_after_the_reply_of_a_macro() -> None:
    RuleFactory(events=["replied"])
    reply, agent, ticket = CannedReplyFactory(), AgentFactory(), TicketFactory()

    use_macro(ticket, MacroFactory(actions={"reply": str(reply.pk)}), ACTOR, agent)

    ticket.refresh_from_db()
    assert (ticket.tags, ticket.first_agent_responded_at is None) == (["ruled"], False)


def test_a_rule_whose_canned_reply_has_gone_says_so() -> None:
    rule = RuleFactory(actions={"reply": "0"})

    edit_ticket(TicketFactory(), ACTOR, subject="other")

    rule.refresh_from_db()
    assert rule.trouble.startswith('The action "send the canned reply" has no value')


def test_an_address_that_a_machine_reads_gets_no_reply_of_a_rule_and_others_one_an_hour() -> None:
    reply = CannedReplyFactory()
    RuleFactory(actions={"reply": str(reply.pk), "add_tags": ["told"]})
    machine, person = TicketFactory(sender="no-reply@shop.example"), TicketFactory()

    for ticket in (machine, person, person):
        edit_ticket(ticket, ACTOR, subject=f"other {Message.objects.count()} {TicketChange.objects.count()}")

    assert list(Message.objects.values_list("ticket", flat=True)) == [person.pk]
    assert [Ticket.objects.get(pk=ticket.pk).tags for ticket in (machine, person)] == [["told"]] * 2
    assert TicketChange.objects.filter(action="rule", changes__has_key="trouble").count() == 2


def test_a_rule_of_time_asks_again_under_the_lock_and_what_it_changes_starts_no_run(monkeypatch) -> None:
    now = timezone.now()
    rule = RuleFactory(timed=True, anchor="updated_at", since=now - timedelta(days=9))
    other = RuleFactory(timed=True, anchor="updated_at", since=now - timedelta(days=9), actions={"comment": "x"})
    ticket = TicketFactory(updated_at=now - timedelta(hours=2))

    for minutes in (0, 70, 140):
        with time_machine.travel(now + timedelta(minutes=minutes), tick=False):
            run_due(rule)
            run_due(other)

    assert sorted(rule_runs(ticket)) == sorted([rule.name, other.name])
    late = TicketFactory(updated_at=now - timedelta(hours=2))
    (each,) = ready([rule])
    edit_ticket(late, ACTOR, subject="changed since it was listed")
    _run_for(each, late)
    assert rule_runs(late) == []


def test_a_value_that_no_column_holds_and_a_field_of_another_type_stop_no_person() -> None:
    field = CustomFieldFactory(type="choice", options=["a"])
    wrong = RuleFactory(actions={"add_tags": ["x" * 101]})
    RuleFactory(conditions=[{"name": f"field_{field.pk}", "operator": "contains", "values": ["a"]}])
    ticket = TicketFactory()

    edit_ticket(ticket, ACTOR, subject="other")

    wrong.refresh_from_db()
    assert "100" in wrong.trouble
    assert (Ticket.objects.get().subject, rule_runs(ticket)) == ("other", [wrong.name])


def test_a_macro_with_a_reply_needs_an_agent_and_its_conditions() -> None:
    reply, ticket = CannedReplyFactory(), TicketFactory()
    with_reply = MacroFactory(actions={"reply": str(reply.pk)})
    for_high = MacroFactory(conditions=is_high())

    for macro, agent in ((with_reply, None), (for_high, AgentFactory())):
        with pytest.raises(Invalid):
            use_macro(ticket, macro, ACTOR, agent)
    assert not Message.objects.exists()


@pytest.mark.usefixtures("plain_static")
def test_a_macro_is_not_done_twice_by_a_button_that_is_pressed_twice() -> None:
    ticket, macro, client = TicketFactory(), MacroFactory(actions={"raise_priority": "1"}), superuser()
    data = {name: value for name, value in inputs_of(client.page(page_of(ticket))).items() if name == "seen_change"}
    form = {**data, "do": "macro", "macro": macro.pk}

    client.post(page_of(ticket), form)
    response = client.post(page_of(ticket), form)

    assert messages_of(response)[-1] == "You have used this macro already: it was not done twice."
    assert Ticket.objects.get().priority == Priority.HIGH


@pytest.mark.usefixtures("plain_static")
def test_a_macro_is_used_on_several_tickets_and_the_list_shows_those_that_meet_conditions() -> None:
    tickets, client = TicketFactory.create_batch(2), superuser()
    rule, macro = RuleFactory(conditions=is_high()), MacroFactory(actions={"priority": "high"}, conditions=[])
    other = TicketFactory(subject="Other")
    page = reverse("admin:tickets_ticket_changelist")
    chosen = {"action": "use_macro_on_selected", "_selected_action": [each.pk for each in tickets]}

    client.post(page, {**chosen, "macro": macro.pk, "apply": "1"})

    listed = client.get(page, {"meets": f"rule-{rule.pk}"}).context["cl"].result_list
    assert {each.pk for each in listed} == {each.pk for each in tickets}
    assert {each.pk for each in client.get(page, {"meets": f"macro-{macro.pk}"}).context["cl"].result_list} > {other.pk}
    assert not client.get(page, {"meets": "rule-0"}).context["cl"].result_list
