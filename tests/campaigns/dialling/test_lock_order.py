"""Locks of the dialler, each a deadlock in another order, and a switch that does not answer."""

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from campaigns.dialling import choice, dials, numbers, outcomes, previews
from campaigns.dialling.dialler import Dialler
from campaigns.models import Attempt, Campaign, DiallerState, DiallingDay, Record, RecordOffer
from campaigns.verbs import do_not_call
from telephony.calls import legs, line_events, switch_requests
from telephony.calls.switch_requests import AT_ONCE, RequestThreads
from telephony.models import Agent, AgentLine, Connection, Leg
from telephony.switch.base import SwitchUnreachable
from telephony.verbs import ledger
from tests.campaigns.dialling.calls import (
    add_agent,
    answered_call,
    dialling_campaign,
    hang_up,
    only_attempt,
    open_call,
    pick_up,
    tick,
)
from tests.campaigns.factories import CampaignFactory, DoNotCallFactory, RecordFactory
from tests.campaigns.waiting import in_thread, while_it_waits
from tests.conftest import ACTOR
from tests.processes import heard_switch, wait_for
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentFactory, ConnectionFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_dial_that_waits_for_its_agent_does_not_hold_the_number(switch):
    """A preview that is accepted has the agent, and calls the same number for another campaign."""
    campaign = dialling_campaign(records=0)
    mine, other = (RecordFactory(campaign=one, phone_number="+48600100200") for one in (campaign, CampaignFactory()))
    Record.objects.filter(pk=mine.pk).update(leased_by="test", leased_until=timezone.now() + timedelta(minutes=1))
    agent = Agent.objects.get()

    while_it_waits(
        lambda: dials.dial(campaign, mine.pk, "test", Attempt.Mode.ONE_TO_ONE, agent),
        first=lambda: ledger.lock(agent.pk),
        then=lambda: numbers.read_record(other.pk),
    )

    assert Connection.objects.get().record_id == mine.pk


@pytest.mark.parametrize("way", ["accept", "sweep"])
def test_the_call_of_an_offered_record_locks_the_campaign_first(switch, way):
    campaign = dialling_campaign(dialer="preview", preview_end="dial")
    tick(campaign)
    agent = Agent.objects.get()
    if way == "sweep":
        RecordOffer.objects.update(expires_at=timezone.now())

    while_it_waits(
        lambda: previews.accept(agent, ACTOR) if way == "accept" else previews.sweep(timezone.now()),
        # As an edit of the campaign does that then needs the agent.
        first=lambda: Campaign.objects.filter(pk=campaign.pk).update(wrap_up_seconds=7),
        then=lambda: ledger.lock(agent.pk),
    )

    assert RecordOffer.objects.get().end == "accepted"
    assert Connection.objects.get().agent == agent


def test_records_are_settled_in_the_order_in_which_edits_lock_them(switch):
    campaign = dialling_campaign(agents=2, records=2, wrap_up_seconds=30)
    tick(campaign)
    for call in Connection.objects.order_by("id"):
        answered_call(call)
        hang_up(call, Leg.Role.CUSTOMER)
    first, second = Record.objects.order_by("id")
    # The later record is due first.
    now = timezone.now()
    Attempt.objects.filter(record_id=first.pk).update(settle_at=now - timedelta(seconds=1))
    Attempt.objects.filter(record_id=second.pk).update(settle_at=now - timedelta(seconds=2))

    while_it_waits(
        lambda: outcomes.settle_due(now),
        first=lambda: Record.objects.select_for_update(no_key=True).get(pk=first.pk),
        then=lambda: Record.objects.select_for_update(no_key=True).get(pk=second.pk),
    )

    assert not Record.objects.filter(system_status="IN_PROGRESS").exists()


def test_an_end_that_waits_for_its_record_does_not_delay_a_join(switch):
    tick(dialling_campaign(agents=2, records=2))
    ends, joins = Connection.objects.order_by("id")
    pick_up(ends, Leg.Role.AGENT)
    pick_up(joins, Leg.Role.AGENT)

    while_it_waits(
        lambda: hang_up(ends, Leg.Role.CUSTOMER, 17),
        first=lambda: Record.objects.select_for_update(no_key=True).get(leased_by=f"call:{ends.pk}"),
        then=lambda: pick_up(joins, Leg.Role.CUSTOMER),
    )

    assert Attempt.objects.get(connection_id=joins.pk).joined_at
    day = DiallingDay.objects.get()
    assert (day.attempts, day.live_answers) == (1, 1)


def test_a_join_that_waits_for_the_counts_happens_after_the_wait(switch):
    campaign = dialling_campaign()
    tick(campaign)
    call = open_call()
    pick_up(call, Leg.Role.AGENT)
    day = DiallingDay.objects.create(campaign=campaign, day=timezone.localdate())
    ends: list[datetime] = []

    while_it_waits(
        lambda: pick_up(call, Leg.Role.CUSTOMER),
        first=lambda: DiallingDay.objects.select_for_update().get(pk=day.pk),
        then=lambda: ends.append(timezone.now()),
    )

    joined_at = only_attempt().joined_at
    assert joined_at
    assert joined_at > ends[0]


def in_reverse(first: Record, second: Record) -> None:
    """Move the first record behind the second one in the table, so that a scan meets them in the other order."""
    Record.objects.filter(pk=first.pk).update(last_note="moved")


def while_an_edit_has_the_first(act: Callable[[], object], first: Record, second: Record) -> None:
    """Do it, by a scan of the table, while an edit of both records has locked the first of them only."""

    def by_scan() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            for way in ("indexscan", "indexonlyscan", "bitmapscan"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
            act()

    while_it_waits(
        by_scan,
        first=lambda: Record.objects.select_for_update(no_key=True).get(pk=first.pk),
        then=lambda: Record.objects.select_for_update(no_key=True).get(pk=second.pk),
    )


@pytest.mark.parametrize("is_prefix", [False, True])
def test_records_that_a_removed_entry_frees_are_locked_in_the_order_of_edits(*, is_prefix):
    number = "+48600100200"
    first, second = (RecordFactory(campaign=CampaignFactory(), phone_number=number) for _ in range(2))
    entry = DoNotCallFactory(number=number[:6] if is_prefix else number, is_prefix=is_prefix)
    Record.objects.update(held_until=choice.FOR_GOOD)
    in_reverse(first, second)

    while_an_edit_has_the_first(lambda: do_not_call.remove_entry(entry, ACTOR), first, second)

    assert not Record.objects.exclude(held_until=None).exists()


def test_records_of_a_removed_file_of_entries_are_locked_in_the_order_of_edits():
    first, second = RecordFactory.create_batch(2, campaign=CampaignFactory())
    for record in (second, first):
        DoNotCallFactory(number=record.number)
    Record.objects.update(held_until=choice.FOR_GOOD)
    in_reverse(first, second)
    removed = "(SELECT number, is_prefix, NULL AS message FROM campaigns_donotcall)"

    def free():
        with connection.cursor() as cursor:
            do_not_call.free_removed(cursor, removed)

    while_an_edit_has_the_first(free, first, second)

    assert not Record.objects.exclude(held_until=None).exists()


def test_records_that_are_given_back_are_locked_in_the_order_of_edits():
    first, second = RecordFactory.create_batch(2, campaign=CampaignFactory())
    Record.objects.update(leased_by="test", leased_until=timezone.now() + timedelta(minutes=1))
    in_reverse(first, second)

    while_an_edit_has_the_first(lambda: choice.give_back([second.pk, first.pk], "test"), first, second)

    assert not Record.objects.exclude(leased_by="").exists()


def test_two_records_whose_numbers_are_crossed_do_not_wait_for_each_other(committed_db):
    first, second = (RecordFactory(phone_number=number) for number in ("+48600100200", "+48600100201"))

    def elsewhere(record_id, number):
        record = numbers.read_record(record_id)
        return numbers.is_called_elsewhere(number, record, timezone.now())

    with transaction.atomic():
        numbers.read_record(first.pk)
        # The other one would wait for this number, and this one for the other.
        assert in_thread(lambda: elsewhere(second.pk, first.number)) is True
        assert elsewhere(first.pk, second.number) is False


def a_line(agent: Agent) -> AgentLine:
    return AgentLine.objects.create(agent=agent, channel_id="callcentre-line-1", asked_at=timezone.now())


def test_a_line_that_takes_a_call_while_its_agent_is_awaited_locks_the_call_first(switch):
    call, agent = ConnectionFactory(talking=True, uses_line=True), AgentFactory()
    line = a_line(agent)

    before: list[Any] = []

    def begin():
        legs.lock(call.pk)
        before.append(transaction.savepoint())
        ledger.lock(agent.pk)

    def go_on():
        in_thread(lambda: AgentLine.objects.update(connection_id=call.pk, role="agent", called_at=timezone.now()))
        # The other transaction gets the agent, and finds the line in a call that is locked here.
        transaction.savepoint_rollback(before.pop())
        time.sleep(0.2)
        ledger.lock(agent.pk)

    while_it_waits(lambda: line_events.ended(line.channel_id, timezone.now(), 44), first=begin, then=go_on)

    assert AgentLine.objects.get().ended_at is not None


def test_a_line_that_ends_before_its_call_was_placed_locks_the_call_before_the_agent(switch):
    agent = AgentFactory()
    call = ConnectionFactory(agent=agent, state="queued", answered_at=None, ended_at=None, disposition="")
    line = a_line(agent)

    while_it_waits(
        lambda: line_events.ended(line.channel_id, timezone.now(), 19),
        first=lambda: legs.lock(call.pk),
        then=lambda: ledger.lock(agent.pk),
    )

    call.refresh_from_db()
    assert (call.state, call.cause) == ("ended", 19)


PATIENCE_SECONDS = 30.0


class SilentSwitch(RecordingSwitch):
    """Leaves requests open until `gives_up` is set. Answers at once when `is_well`."""

    def __init__(self) -> None:
        super().__init__()
        self.gives_up, self.is_well = threading.Event(), False

    def call_agent(self, *args: Any, **values: Any) -> None:
        if not self.is_well:
            assert self.gives_up.wait(PATIENCE_SECONDS)
            raise SwitchUnreachable("silent")


@pytest.fixture
def silent(monkeypatch):
    double, threads = SilentSwitch(), RequestThreads()
    monkeypatch.setattr(switch_requests, "current_switch", lambda: double)
    monkeypatch.setattr(switch_requests, "threads", threads)
    with heard_switch():
        yield double
    double.gives_up.set()
    threads.shut_down(PATIENCE_SECONDS)


def round_of(dialler: Dialler) -> int:
    """Dial for all campaigns. Return the calls that were placed."""
    threads, before = switch_requests.threads, Attempt.objects.count()
    assert threads
    threads.begin_round()
    dialler.tick()
    return Attempt.objects.count() - before


def test_a_round_ends_when_the_switch_is_silent_and_goes_on_by_one_call(silent, monkeypatch):
    first, second = dialling_campaign(agents=AT_ONCE + 2, records=AT_ONCE + 2), dialling_campaign(agents=0)
    add_agent(second, "second", "201")
    dialler = Dialler()

    # Nothing is answered, and yet the tick is over. Neither campaign places more calls.
    assert round_of(dialler) == AT_ONCE
    assert round_of(dialler) == 0
    assert set(DiallerState.objects.values_list("campaign", "code")) == {
        (first.pk, "no_switch"),
        (second.pk, "no_switch"),
    }

    silent.gives_up.set()
    threads = switch_requests.threads
    assert threads
    wait_for(lambda: not threads._open, "all requests have failed")
    monkeypatch.setattr(switch_requests, "ROOM_SECONDS", PATIENCE_SECONDS)
    assert round_of(dialler) == 1
    silent.is_well = True
    assert round_of(dialler) == 2
    dialler.disown()


@pytest.mark.parametrize("failure", [OperationalError, InterfaceError])
def test_a_request_is_not_repeated_when_its_answer_cannot_be_stored(failure):
    threads, sent = RequestThreads(), []

    def request():
        sent.append(1)
        raise failure("the database is down")

    threads.submit(request)
    threads.shut_down(1.0)

    assert sent == [1]
