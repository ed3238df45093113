"""The report is exact at any moment: whatever people do, and whether its worker runs, lags behind or dies."""

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import DatabaseError, connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from callcentre.core import deletions
from callcentre.core.errors import Conflict, Invalid
from callcentre.core.times import zone
from reports import report, rollups
from reports.models import Rollup
from telephony.calls import legs, offers, presumed_ends
from telephony.models import Connection, LedgerChange, Offer
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.reports.asking import AGGREGATIONS, ask, refresh, settle, unsettle
from tests.reports.reference import Reference
from tests.reports.scenes import Cast, Scene, cast
from tests.telephony.factories import RecordingFactory
from tests.tickets.factories import CustomerFactory, TicketFactory
from tests.tiers import examples
from tickets.models import Chat, Ticket
from tickets.verbs.chats import close_chat, start_chat, write_in_chat
from tickets.verbs.merges import merge_tickets, split_ticket
from tickets.verbs.messages import reply_to
from tickets.verbs.tickets import edit_ticket

EXAMPLES, STEPS = int(os.environ.get("REPORT_EXAMPLES", examples(5))), 50
BEGIN = datetime(2026, 10, 24, 20, 40, tzinfo=UTC)
WEEK = (BEGIN - timedelta(days=3), BEGIN + timedelta(days=4))


class Play:
    """Verbs, and what calls do, at an instant that only grows."""

    def __init__(self, people: Cast, seed: int) -> None:
        self.scene = Scene(people, BEGIN, seed)
        self.people, self.chance, self.now = people, self.scene.chance, BEGIN

    def agree(self) -> None:
        """Now, or a little later, in any aggregation."""
        now = self.now + timedelta(seconds=self.chance.choice([0, 1, 4000]))
        aggregation = self.chance.choice([one for one in AGGREGATIONS if one != "minute"])
        queues = self.chance.choice([None, [self.people.queues[0].pk, self.people.ticket_queues[0].pk]])
        threshold = self.chance.choice([0, 30])
        span = self.chance.choice([WEEK, (BEGIN, self.now + timedelta(seconds=1))])
        with report.snapshot():
            expected = Reference(zone(), now).report(
                self.people.agents, span, aggregation, queues=queues, threshold=threshold
            )
            rows = ask(self.people.agents, span, aggregation, now, queues=queues, threshold=threshold)
        assert rows == expected

    def step(self, verb: str) -> None:
        self.now += timedelta(seconds=self.chance.choice([0, 1, 59, 600, 3600, 20_000]))
        agent = self.chance.choice(self.people.agents)
        try:
            with time_machine.travel(self.now, tick=False), transaction.atomic():
                match verb:
                    case "log_in" | "log_out" | "free":
                        getattr(presence, verb)(agent, ACTOR, self.now)
                    case "pause":
                        presence.pause(agent, ACTOR, self.chance.choice(self.people.pauses).pk, at=self.now)
                    case "limit":
                        presence.close_long_sessions(self.now, timedelta(hours=3))
                    case _:
                        getattr(self, f"do_{verb}")(agent)
        except (Invalid, Conflict):
            pass

    def do_offer(self, agent: Any) -> None:
        """The next thing that happens to a call that comes in for him."""
        offer = Offer.objects.filter(agent=agent, ended_at=None).first()
        if offer is None:
            call = self.scene.connection(None, "INBOUND", self.now)
            Offer.objects.create(connection=call, agent=agent, queue=self.scene._queue(), offered_at=self.now)
        elif offer.answered_at is None and self.chance.random() < 0.7:
            offers.answer(offer, self.now)
        else:
            outcome = self.chance.choice(["not_answered", "failed"])
            offers.close(offer, self.now, outcome, is_transferred=self.chance.random() < 0.3)

    def do_call(self, agent: Any) -> None:
        """The same of one that he has asked for."""
        call = Connection.objects.filter(agent=agent, direction="OUTBOUND", ended_at=None).first()
        if call is None:
            answered_at = self.chance.choice([self.now, None])
            self.scene.connection(agent, "OUTBOUND", self.now, answered_at=answered_at, queue=self.scene._queue())
        else:
            legs.end(call, self.now, "ANSWERED", cause=16, hung_up_by="agent")

    def do_transfer(self, agent: Any) -> None:
        """Transfer a call that was asked for; or pick it up, once it was transferred."""
        calls = Connection.objects.filter(direction="OUTBOUND", ended_at=None, answered_at__isnull=False)
        if (call := calls.order_by("id").first()) is None:
            return
        if call.has_talks and not call.talks.filter(ended_at=None).exists():
            call.agent, call.queue = agent, self.scene._queue()
            call.save(update_fields=["agent", "queue"])
            offers.begin_talk(call, agent, self.now)
        else:
            offers.transfer_talk(call, self.now)

    def do_correct(self, agent: Any) -> None:
        """The end of a call was presumed, and its recording tells another."""
        over = Connection.objects.filter(ended_at__isnull=False, answered_at__isnull=False).order_by("-ended_at", "id")
        if (call := over.first()) is None or call.recordings.exists():
            return
        length = self.chance.choice([0, 1, 59, 3600, 20_000])
        RecordingFactory(connection=call, ready=True, started_at=call.answered_at, seconds=length)
        presumed_ends.presume(call.pk, self.now + timedelta(days=1))

    def do_chat(self, agent: Any) -> None:
        start_chat(ACTOR, client_name="C", queue_id=self.chance.choice(self.people.queues).pk)

    def do_write(self, agent: Any) -> None:
        for chat in Chat.objects.filter(closed_at=None).order_by("id")[:2]:
            write_in_chat(chat, ACTOR, body="?", agent_login=agent.login)

    def do_close_chat(self, agent: Any) -> None:
        if chat := Chat.objects.filter(closed_at=None).order_by("id").first():
            close_chat(chat, ACTOR)

    def _ticket(self) -> Ticket:
        ticket: Ticket = self.chance.choice(self.people.tickets)
        return Ticket.objects.filter(pk=ticket.pk).first() or TicketFactory(queue=ticket.queue)

    def do_reply(self, agent: Any) -> None:
        body = {"body": "Yes.", "body_type": "PLAIN", "agent_login": agent.login}
        reply_to(self._ticket(), ACTOR, **body)

    def do_move(self, agent: Any) -> None:
        queue = self.chance.choice(self.people.ticket_queues)
        edit_ticket(self._ticket(), ACTOR, queue_id=queue.pk, agent_login=agent.login)

    def do_close(self, agent: Any) -> None:
        status = self.chance.choice(list(type(self._ticket().status).objects.exclude(kind="merged")))
        edit_ticket(self._ticket(), ACTOR, agent_login=agent.login, status_id=status.pk)

    def do_merge(self, agent: Any) -> None:
        merge_tickets(self._ticket(), self._ticket(), ACTOR)

    def do_split(self, agent: Any) -> None:
        ticket = self._ticket()
        split_ticket(ticket, ACTOR, [message.pk for message in ticket.messages.all()[:1]], "")

    def do_delete_ticket(self, agent: Any) -> None:
        # Rarely, because it removes the remaining work.
        if self.chance.random() < 0.3:
            self._delete("ticket", self._ticket())

    def do_delete_chat(self, agent: Any) -> None:
        if chat := Chat.objects.order_by("created_at", "id").first():
            self._delete("chat", chat)

    def do_delete_customer(self, agent: Any) -> None:
        ticket = self._ticket()
        ticket.customer = CustomerFactory()
        ticket.save(update_fields=["customer"])
        if self.chance.random() < 0.3:
            self._delete("customer", ticket.customer)

    def _delete(self, kind: str, row: Any) -> None:
        deletion = deletions.Deletion.ask(ACTOR, kind, row, "on request")
        deletions.run(deletion.pk)
        deletion.refresh_from_db()
        assert deletion.state == "finished"


VERBS = [name.removeprefix("do_") for name in dir(Play) if name.startswith("do_")]
VERBS += ["log_in", "log_out", "free", "pause", "limit"]
WORK: dict[str, Callable[[Play], object]] = {
    "refresh": lambda play: refresh(),
    "a little": lambda play: rollups.refresh(),
    "settle": lambda play: settle(play.now),
    "settle later": lambda play: settle(play.now + timedelta(days=500)),
}


def work(play: Play) -> None:
    """The worker does some of it; now and then it is gone before it commits."""
    act = WORK[play.chance.choice([*WORK, "refresh", "refresh"])]
    with transaction.atomic():
        act(play)
        if play.chance.random() < 0.2:
            transaction.set_rollback(True)


@pytest.mark.slow("runs many examples")
@pytest.mark.django_db
@given(seed=st.integers(0, 10**9))
@settings(settings.get_profile("seeds"), max_examples=EXAMPLES)
def test_whatever_is_done_and_whenever_the_worker_runs_or_dies_the_report_is_right(people, seed):
    with transaction.atomic():
        play = Play(people, seed)
        unsettle(BEGIN)
        for _ in range(STEPS):
            if play.chance.random() < 0.4:
                work(play)
            play.step(play.chance.choice(VERBS))
            play.agree()
        transaction.set_rollback(True)


@pytest.mark.trial
@pytest.mark.slow("runs threads for seconds")
def test_while_others_work_and_the_worker_sums_every_snapshot_is_right(committed_db):
    people = cast()
    is_over = threading.Event()
    failures: list[BaseException] = []

    def repeat(act: Callable[[], object]) -> None:
        try:
            while not is_over.is_set():
                act()
        except BaseException as error:  # noqa: BLE001  (told by the test)
            failures.append(error)
        finally:
            connection.close()

    def sum_up() -> None:
        with rollups.alone() as is_alone:
            if is_alone:
                rollups.refresh()
                settle(BEGIN + timedelta(days=900))

    play = Play(people, 7)
    threads = [threading.Thread(target=repeat, args=(sum_up,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(60):
            play.step(play.chance.choice(VERBS))
            play.agree()
    finally:
        is_over.set()
        for thread in threads:
            thread.join()

    assert failures == []
    assert Rollup.objects.exists()


def test_a_worker_whose_connection_dies_leaves_what_it_was_to_do(committed_db, monkeypatch):
    people = cast()
    play = Play(people, 11)
    for verb in ("log_in", "pause", "call", "call", "log_out") * 3:
        play.step(verb)
    entries = LedgerChange.objects.count()

    write = rollups.write

    def write_and_die(*whole: Any) -> None:
        write(*whole)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with monkeypatch.context() as patch:
        patch.setattr(rollups, "write", write_and_die)
        with pytest.raises(DatabaseError):
            rollups.refresh()
    connection.close()

    assert entries > 0
    assert LedgerChange.objects.count() == entries
    assert not Rollup.objects.exists()
    play.agree()
    refresh()
    assert not LedgerChange.objects.exists()
    play.agree()
