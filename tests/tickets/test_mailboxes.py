"""The poll of mailboxes, with a server that fails in every way, at every moment."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from tests.conftest import ACTOR
from tests.tickets.imap_server import Mailbox, a_mailbox, local_mailboxes, queue_of  # noqa: F401  (fixtures)
from tests.tickets.mails import a_mail
from tickets.mail import mailbox_poll
from tickets.mail.mailbox_poll import poll
from tickets.models import Message, ReceivedMail, Ticket, TicketQueue
from tickets.verbs.received_mails import retry_mail

pytestmark = pytest.mark.usefixtures("committed_db", "own_storage")


def numbered(number: int) -> bytes:
    return a_mail(f"Help with {number}!", Subject=f"Mail {number}", From=f"c{number}@client.example")


def subjects() -> list[str]:
    return list(Ticket.objects.order_by("id").values_list("subject", flat=True))


def let_time_pass(queue: TicketQueue) -> None:
    """Move the last poll into the past."""
    TicketQueue.objects.filter(pk=queue.pk).update(polled_at=timezone.now() - timedelta(hours=1))


def test_new_mail_becomes_tickets_once_and_is_marked_as_read(box):
    read, unread = box.add(numbered(1), is_seen=True), box.add(numbered(2))
    queue = queue_of(box)

    first = poll(queue.pk)
    later = box.add(numbered(3))
    box.seen.add(later)  # a person has looked at it already
    second, third = poll(queue.pk), poll(queue.pk)

    assert (first, second, third) == (1, 1, 0)
    assert subjects() == ["Mail 2", "Mail 3"]
    assert box.seen == {read, unread, later}
    # Mails that other programs have marked as deleted stay.
    assert not [command for command in box.commands if "EXPUNGE" in command]
    queue.refresh_from_db()
    assert (queue.poll_error, queue.failing_since, queue.imap_last_uid) == ("", None, later)
    assert queue.read_at == queue.polled_at is not None
    assert set(ReceivedMail.objects.values_list("imap_validity", "imap_uid")) == {(7, unread), (7, later)}


def test_ten_thousand_old_mails_cost_nothing_and_the_unread_ones_are_taken(box):
    for _ in range(10_000):
        box.add(b"From: a@b.example\n\nold", is_seen=True)
    news = [box.add(numbered(number)) for number in range(3)]
    queue = queue_of(box)

    assert poll(queue.pk) == 3
    assert box.fetched() == news
    assert poll(queue.pk) == 0


@pytest.mark.trial
@pytest.mark.slow("writes many rows")
def test_ten_thousand_unread_mails_are_taken_in_their_order_in_turns(box, monkeypatch):
    taken: list[int] = []
    enqueued: list[int] = []
    monkeypatch.setattr(mailbox_poll, "take_in", lambda stream, queue, place: taken.append(place[1]))
    monkeypatch.setattr(mailbox_poll, "TURN_SECONDS", 0)
    monkeypatch.setattr(mailbox_poll, "BATCH", 2500)
    monkeypatch.setattr(mailbox_poll, "enqueue", lambda task, pk: enqueued.append(pk))
    for _ in range(10_000):
        box.add(b"From: a@b.example\n\nx")
    queue = queue_of(box)

    counts = [poll(queue.pk) for _ in range(5)]

    assert counts == [2500, 2500, 2500, 2500, 0]
    assert taken == list(range(1, 10_001))
    assert enqueued == [queue.pk] * 3


def test_a_wrong_password_is_shown_with_time_and_reason_and_logged_once(box, caplog):
    box.add(numbered(1))
    queue = queue_of(box, imap_password="wrong")
    before = timezone.now()

    for _ in range(3):
        poll(queue.pk)
        let_time_pass(queue)

    queue.refresh_from_db()
    assert "refuses user and password" in queue.poll_error
    assert "Invalid credentials" in queue.poll_error
    assert queue.failing_since is not None
    assert before <= queue.failing_since
    assert queue.read_at is None
    assert [record.message for record in caplog.records].count("mailbox not read") == 1
    assert "wrong" not in caplog.text

    # A person corrects the queue: the next poll is due at once.
    queue.imap_password = box.password
    queue.save()
    assert poll(queue.pk) == 1
    mended = TicketQueue.objects.get(pk=queue.pk)
    assert (mended.poll_error, mended.failing_since) == ("", None)


def test_a_failing_mailbox_is_paused_for_as_long_as_it_has_failed(box):
    queue = queue_of(box, imap_password="wrong")
    poll(queue.pk)
    now = timezone.now()
    failing = TicketQueue.objects.filter(pk=queue.pk)
    failing.update(updated_at=now - timedelta(days=1), failing_since=now - timedelta(minutes=10), polled_at=now)
    asked = len(box.commands)

    poll(queue.pk)

    assert len(box.commands) == asked
    # At most a quarter of an hour.
    failing.update(failing_since=now - timedelta(days=2), polled_at=now - timedelta(minutes=16))
    poll(queue.pk)
    assert len(box.commands) > asked


def test_a_connection_cut_inside_a_mail_loses_and_doubles_no_mail(box):
    uids = [box.add(numbered(number)) for number in range(1, 4)]
    box.faults[uids[1]] = "cut"
    queue = queue_of(box)

    assert poll(queue.pk) == 1
    queue.refresh_from_db()
    assert "abort" in queue.poll_error
    assert (queue.imap_pending, subjects()) == (uids[1:], ["Mail 1"])

    box.faults.clear()
    assert poll(queue.pk) == 2
    assert subjects() == ["Mail 1", "Mail 2", "Mail 3"]


def test_a_mail_that_breaks_the_server_is_skipped_after_some_attempts(box):
    uids = [box.add(numbered(number)) for number in range(1, 4)]
    box.faults[uids[1]] = "cut"
    queue = queue_of(box)

    for _ in range(mailbox_poll.MOST_TRIES + 1):
        poll(queue.pk)
        let_time_pass(queue)

    assert subjects() == ["Mail 1", "Mail 3"]
    left = ReceivedMail.objects.quarantined().get()
    assert (left.imap_uid, left.path) == (uids[1], "")
    assert left.reason.startswith("the mailbox could not be read past it: abort")

    # The server is repaired, and a person has the mail fetched again.
    box.faults.clear()
    retry_mail(left, ACTOR)
    assert poll(queue.pk) == 1
    assert subjects() == ["Mail 1", "Mail 3", "Mail 2"]
    left.refresh_from_db()
    assert (left.outcome, left.decided_by) == ("ignored", "tester")


@pytest.mark.parametrize("fault", ["no", "bad", "nil"])
def test_a_withheld_mail_does_not_stop_the_others(box, fault):
    uids = [box.add(numbered(number)) for number in range(1, 4)]
    box.faults[uids[1]] = fault
    queue = queue_of(box)

    assert poll(queue.pk) == 2

    assert subjects() == ["Mail 1", "Mail 3"]
    left = ReceivedMail.objects.quarantined().get()
    assert left.reason.startswith("the server does not give it out")
    assert uids[1] not in box.seen


def test_a_mail_that_is_too_large_is_quarantined_with_its_headers(box, settings):
    settings.MAX_MAIL_MB = 1
    large = box.add(a_mail("x" * 1_100_000, Subject="Large"))
    small = box.add(numbered(2))
    # The limit holds too if the server does not say the size.
    queue, silent = queue_of(box), queue_of(box)

    poll(queue.pk)
    box.says_sizes, box.seen = False, set()
    poll(silent.pk)

    for each in (queue, silent):
        left = ReceivedMail.objects.quarantined().get(queue=each)
        assert (left.sender, left.subject, left.imap_uid) == ("jan@client.example", "Large", large)
        assert left.reason.startswith("too large to be taken in: 1,1")
    assert box.fetched() == [small, large, small]


def test_a_server_that_renumbers_its_mails_doubles_and_hides_none(box):
    old, taken = numbered(1), numbered(2)
    box.add(old, is_seen=True)
    box.add(taken)
    queue = queue_of(box)
    poll(queue.pk)

    # The mailbox is restored from a backup: other UIDs, no flags, one more mail.
    box.validity, box.mails, box.seen, box.next_uid = 8, {}, set(), 101
    for raw in (taken, numbered(3)):
        box.add(raw)
    # A person has read it before the poll.
    box.add(numbered(4), is_seen=True)
    poll(queue.pk)

    assert subjects() == ["Mail 2", "Mail 3", "Mail 4"]
    queue.refresh_from_db()
    assert (queue.imap_validity, queue.imap_last_uid, queue.imap_pending) == (8, 103, [])


def test_one_poison_mail_does_not_stop_the_others(box):
    box.add(b"\x00\xff\xfe" * 1000)
    box.add(b"\n\nno headers")
    box.add(numbered(3))
    queue = queue_of(box)

    assert poll(queue.pk) == 3
    assert subjects()[-1] == "Mail 3"
    assert ReceivedMail.objects.quarantined().exists()


def test_only_one_of_two_concurrent_polls_reads(box):
    for number in range(5):
        box.add(numbered(number))
    queue = queue_of(box)
    at_it, go_on = threading.Event(), threading.Event()

    def wait(uid: int) -> None:
        at_it.set()
        assert go_on.wait(60)

    box.before_fetch = wait
    counts: list[int] = []

    def first() -> None:
        try:
            counts.append(poll(queue.pk))
        finally:
            connection.close()

    thread = threading.Thread(target=first)
    thread.start()
    assert at_it.wait(60)
    second = poll(queue.pk)
    go_on.set()
    thread.join(60)

    assert (counts, second) == ([5], 0)
    assert len(subjects()) == len(set(subjects())) == 5


def test_a_server_that_never_ends_its_answer_is_cut_off(box, monkeypatch):
    box.add(numbered(1))
    queue = queue_of(box)
    release = threading.Event()
    box.before_fetch = lambda uid: assert_released(release)
    # Long enough for a log-in on a busy machine.
    monkeypatch.setattr(mailbox_poll, "LONGEST_SECONDS", 3)

    poll(queue.pk)

    release.set()
    queue.refresh_from_db()
    assert queue.poll_error
    assert (queue.imap_stuck_uid, queue.imap_stuck_count) == (1, 1)


def assert_released(release: threading.Event) -> None:
    assert release.wait(60)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"imap_port": 1}, "the server cannot be reached"),
        # Its certificate is self-signed.
        ({"imap_uses_tls": True, "imap_allows_plain": False}, "no encrypted connection: "),
    ],
)
def test_a_mailbox_that_cannot_be_opened_is_shown_as_failing(box, values, error):
    queue = queue_of(box, **values)

    poll(queue.pk)

    queue.refresh_from_db()
    assert queue.poll_error.startswith(error)
    assert queue.imap_stuck_uid is None
    assert not Message.objects.exists()
