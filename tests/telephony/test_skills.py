"""Who gets the call: skills, priorities of callers, and the explanation, beside a slow reference of the order."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from callcentre.core.statements import row_of
from telephony.admin.queues import CallerPriorityForm
from telephony.calls import distribution
from telephony.calls.prompts import _PLACE
from telephony.calls.why_waiting import explain
from telephony.models import (
    Agent,
    AgentSkill,
    AgentState,
    CallBack,
    CallerPriority,
    Connection,
    Offer,
    Pause,
    Queue,
    QueueMember,
    RequiredSkill,
)
from telephony.queue_waits import situations
from telephony.verbs import presence
from tests.backoffice import superuser
from tests.conftest import ACTOR
from tests.telephony.callers import CALLER, call_in, distribute, free_agent, fresh, member, offers, ring_out
from tests.telephony.factories import (
    AgentFactory,
    AgentSessionFactory,
    AgentSkillFactory,
    AgentStateFactory,
    CallBackFactory,
    CallerPriorityFactory,
    ConnectionFactory,
    OfferFactory,
    QueueFactory,
    QueueMemberFactory,
    RequiredSkillFactory,
    SkillFactory,
    SupervisionFactory,
)
from tests.tiers import examples

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("switch", "plain_static")]

REST = timedelta(seconds=10)


def requires(queue: Queue, **levels: int) -> None:
    for name, level in levels.items():
        RequiredSkillFactory(queue=queue, skill__name=name, level=level)


def can(agent: Agent, **levels: int) -> None:
    for required in RequiredSkill.objects.filter(skill__name__in=levels):
        AgentSkillFactory(agent=agent, skill=required.skill, level=levels[required.skill.name])


# A world by chance, and the order of its calls by a reference that looks at one row after another


def world(chance: Random, now: datetime) -> None:
    skills = [SkillFactory() for _ in range(3)]
    queues = [QueueFactory(priority=chance.choice((40, 50)), step_seconds=chance.choice((0, 30))) for _ in range(3)]
    agents = []
    for place in range(6):
        number = chance.choice(("", *5 * (f"90{place}",)))
        agent = AgentFactory(number=number, is_active=chance.random() < 0.9, uses_browser_phone=chance.random() < 0.1)
        since = now - timedelta(seconds=chance.randrange(600))
        if chance.random() < 0.9:
            AgentSessionFactory(agent=agent, started_at=since)
            AgentStateFactory(agent=agent, started_at=since, kind=chance.choice(("wrap_up", *4 * ("free",))))
        for skill in chance.sample(skills, chance.randrange(4)):
            AgentSkillFactory(agent=agent, skill=skill, level=chance.randint(1, 9))
        agents.append(agent)
    for queue in queues:
        for agent in chance.sample(agents, 5):
            QueueMemberFactory(queue=queue, agent=agent, priority=chance.choice((50, 50, 60)))
        for skill in chance.sample(skills, chance.choice((0, 1, 1, 2))):
            RequiredSkillFactory(queue=queue, skill=skill, level=chance.randint(1, 5))
    for _ in range(6):
        since = now - timedelta(seconds=chance.randrange(300))
        steps = chance.choice((0, 0, 5, -5))
        facts = {"queue": chance.choice(queues), "waiting_since": since, "priority_steps": steps, "created_at": since}
        if chance.random() < 0.3:
            CallBackFactory(next_attempt_at=since, **facts)
            continue
        call = ConnectionFactory(waiting=True, **facts)
        for agent in chance.sample(agents, chance.choice((0, 0, 1))):
            ended_at = now - timedelta(seconds=chance.choice((5, 60)))
            outcome = chance.choice(("not_answered", "failed", "abandoned"))
            OfferFactory(connection=call, agent=agent, offered_at=ended_at, ended_at=ended_at, outcome=outcome)


def reference(now: datetime) -> Iterator[tuple[int | None, int | None, int]]:
    """Yield the pairs of all who wait, in their order: connection, call-back and agent."""

    def rank(wait: Any) -> Any:
        steps = wait.priority_steps
        if wait.queue.step_seconds:
            steps += (now - wait.waiting_since) // timedelta(seconds=wait.queue.step_seconds)
        return wait.queue.priority - steps, wait.waiting_since, isinstance(wait, CallBack), wait.pk

    waits = [*Connection.objects.filter(state="waiting"), *CallBack.objects.filter(state="waiting")]
    for wait in sorted(waits, key=rank):
        call = wait.pk if isinstance(wait, Connection) else None
        able = [one for one in QueueMember.objects.filter(queue=wait.queue) if may_be_rung(one, call, now)]
        if able:
            yield call, None if call else wait.pk, min(able, key=lambda one: turn(one, call)).agent_id


def levels(one: QueueMember) -> list[int | None]:
    """Return the agent's level in each required skill; None where the agent lacks it."""
    has = dict(AgentSkill.objects.filter(agent=one.agent).values_list("skill", "level"))
    required = RequiredSkill.objects.filter(queue=one.queue)
    return [has[need.skill_id] if has.get(need.skill_id, 0) >= need.level else None for need in required]


def may_be_rung(one: QueueMember, call: int | None, now: datetime) -> bool:
    agent = one.agent
    if not agent.is_active or not agent.number or agent.uses_browser_phone or None in levels(one):
        return False
    if not AgentState.objects.filter(agent=agent, ended_at=None, kind="free").exists():
        return False
    last = Offer.objects.filter(agent=agent).order_by("-offered_at").first()
    if last is None or last.ended_at is None or last.ended_at <= now - REST:
        return True
    return last.outcome != "failed" and last.connection_id != call


def turn(one: QueueMember, call: int | None) -> Any:
    offered = Offer.objects.filter(agent=one.agent, connection=call).count() if call else 0
    since = AgentState.objects.get(agent=one.agent, ended_at=None).started_at
    return offered, one.priority, -sum(level or 0 for level in levels(one)), since, one.agent_id


@pytest.mark.slow("compares the order with a reference in twenty worlds")
def test_the_order_is_that_of_a_reference_and_the_explanation_names_the_same_agent():
    now = timezone.now().replace(microsecond=0)
    pairs = 0
    for seed in range(examples(20)):
        with transaction.atomic():
            world(Random(seed), now)
            expected = list(reference(now))

            found: list[Any] = []
            while (pair := distribution._next(now, [one[:2] for one in found], [])) is not None:
                found.append(pair)
            explained = {call.pk: explain(call, now) for call in Connection.objects.filter(state="waiting")}

            assert found == expected, seed
            agents = {call: agent for call, _, agent in expected if call}
            named = {call: why.next.agent_id for call, why in explained.items() if why and why.next}
            assert named == agents, seed
            pairs += len(found)
            transaction.set_rollback(True)
    assert pairs > 3 * examples(20)


# Skills


def test_only_agents_with_all_required_levels_are_rung_and_count(queue, anna, bert):
    requires(queue, Polish=5, Billing=2)
    can(anna, Polish=9)
    can(bert, Polish=5, Billing=1)
    call = call_in()
    distribute()
    assert (offers(call), situations([queue.pk])[queue.pk].free) == ([], 0)

    AgentSkill.objects.filter(agent=bert, level=1).update(level=2)
    distribute()

    assert offers(call) == [("bert", "ringing")]


def test_of_one_priority_the_highest_sum_of_the_required_levels_comes_first(queue, anna):
    zoe = member(queue, "zoe", "109", minutes_free=1)
    requires(queue, Polish=1, Billing=1)
    can(anna, Polish=5, Billing=4)
    can(zoe, Polish=8, Billing=2)
    AgentSkillFactory(agent=anna, level=9)  # another skill does not count
    call = call_in()
    distribute()

    assert offers(call) == [("zoe", "ringing")]


# Priorities of callers


def test_the_row_of_the_customer_counts_then_the_longest_beginning():
    CallerPriorityFactory(number="+48", steps=1)
    CallerPriorityFactory(number="+4822", steps=2)
    CallerPriorityFactory(number="+48600100200", customer_id=7, steps=-3)
    steps = CallerPriority.objects.steps_of

    assert [steps(CALLER, None), steps("+48111", None), steps(CALLER, 7), steps(CALLER, 8), steps("anonymous", 8)] == [
        *(2, 1, -3, 2, 0)
    ]


def test_a_caller_with_steps_comes_first_until_the_wait_of_others_counts_more(queue, anna):
    CallerPriorityFactory(number=CALLER, steps=2)
    early, later = call_in("one", "+48600100200"), call_in("two")
    values = {"queue": queue.pk, "now": timezone.now()}
    places = [row_of(_PLACE, {**values, "id": call.pk})[0] for call in (early, later)]
    distribute()

    assert (places, offers(early), offers(later)) == ([2, 1], [], [("anna", "ringing")])

    ring_out(later)
    Queue.objects.filter(pk=queue.pk).update(step_seconds=30)
    Connection.objects.filter(pk=early.pk).update(waiting_since=timezone.now() - timedelta(seconds=95))
    distribute(11)

    assert offers(early) == [("anna", "ringing")]


@pytest.mark.parametrize(
    ("given", "stored"),
    [("22 555 01 07", "+48225550107"), ("+48 22", "+4822"), ("0049", "+49"), ("101", "101"), ("Kowalski", None)],
)
def test_a_number_of_a_priority_has_its_normal_form(given, stored):
    form = CallerPriorityForm({"number": given, "steps": "5"})

    assert (form.is_valid(), form.cleaned_data.get("number")) == (stored is not None, stored)


# The explanation


def test_each_agent_has_the_reasons_for_which_no_phone_rings(queue, django_assert_num_queries):
    requires(queue, Polish=5)
    logins = ("able", "away", "busy", "failed", "gone", "paused", "rings", "supervises", "unable")
    agents = {login: member(queue, login, f"8{place}") for place, login in enumerate(logins)}
    for login, agent in agents.items():
        can(agent, Polish=4 if login == "unable" else 5)
    call = fresh(call_in())
    now = timezone.now()
    presence.pause(agents["paused"], ACTOR, Pause.objects.create(name="Lunch").pk)
    presence.log_out(agents["gone"], ACTOR)
    Agent.objects.filter(login="away").update(uses_browser_phone=True)
    AgentState.objects.filter(agent=agents["busy"], ended_at=None).update(kind="talking")
    OfferFactory(connection=call, agent=agents["failed"], offered_at=now, ended_at=now, outcome="failed")
    OfferFactory(agent=agents["rings"])
    SupervisionFactory(agent=agents["supervises"])

    found = explain(call, now)

    assert found
    assert {one.login: one.texts for one in found.members} == {
        "able": [],
        "away": ["has a phone in the browser that is not connected"],
        "busy": ["is not ready: talking"],
        "failed": ["has not taken this call, or the phone could not be reached: rests for 10 seconds"],
        "gone": ["is not logged in"],
        "paused": ["is not ready: paused"],
        "rings": ["is rung for another call"],
        "supervises": ["listens to a call as a supervisor"],
        "unable": ["lacks Polish 5"],
    }
    assert (found.place, found.next and found.next.login) == (1, "able")

    presence.log_out(agents["able"], ACTOR)
    with django_assert_num_queries(2):
        again = explain(call, now)
    assert again
    assert again.next is None


def test_the_page_of_a_waiting_call_says_why_no_phone_rings(queue, anna):
    requires(queue, Polish=5)
    call = call_in()
    address = reverse("admin:telephony_connection_change", args=[call.pk])

    page = superuser().page(address)

    assert "Why no phone rings for this caller" in page
    assert "lacks Polish 5" in page


def test_a_queue_without_agents_and_a_call_that_does_not_wait(queue):
    why = explain(call_in(), timezone.now())

    assert why
    assert (why.members, why.next) == ([], None)
    assert explain(ConnectionFactory(talking=True, agent=free_agent()), timezone.now()) is None
