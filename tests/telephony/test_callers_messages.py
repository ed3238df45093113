"""Tickets of callers' messages."""

import pytest

from telephony.models import CallerMessage, Queue
from telephony.verbs import recordings
from tests.telephony.factories import CallerMessageFactory, ConnectionFactory, QueueFactory, RecordingFactory
from tests.tickets.factories import TicketQueueFactory
from tickets.models import Ticket

pytestmark = pytest.mark.django_db


def left(queue: Queue, **recording: object) -> CallerMessage:
    connection = ConnectionFactory(direction="INBOUND", src="+48225550107", queue=queue)
    message: CallerMessage = CallerMessageFactory(recording=RecordingFactory(connection=connection, **recording))
    return message


@pytest.fixture
def queue():
    queue: Queue = QueueFactory(name="Hotline", voicemail_ticket_queue_id=TicketQueueFactory(name="Messages").pk)
    return queue


def test_a_stored_message_opens_one_ticket_with_a_link_to_its_call(queue, settings):
    settings.PUBLIC_URL = "https://cc.example"
    message = left(queue, state="ready", seconds=9)
    recordings.open_tickets()
    recordings.open_tickets(message.pk)

    ticket = Ticket.objects.get()
    message.refresh_from_db()
    assert (ticket.queue.name, ticket.source, ticket.sender) == ("Messages", "phone", "+48225550107")
    assert (message.ticket_id, message.is_due) == (ticket.pk, False)
    link = f'href="https://cc.example/admin/telephony/connection/{message.recording.connection_id}/change/"'
    assert link in ticket.messages.get().body


@pytest.mark.parametrize(
    ("recording", "tickets", "is_due"),
    [({"state": "fetching"}, 0, True), ({"state": "ready", "seconds": 1}, 0, False), ({"state": "failed"}, 1, False)],
)
def test_a_message_waits_for_its_recording_and_silence_is_none(recording, tickets, is_due, queue):
    message = left(queue, **recording)
    recordings.open_tickets()
    message.refresh_from_db()

    assert (Ticket.objects.count(), message.is_due) == (tickets, is_due)


def test_a_queue_without_tickets_opens_none(queue):
    left(QueueFactory(), state="ready", seconds=9)
    recordings.open_tickets()

    assert not Ticket.objects.exists()


def test_the_ticket_goes_to_the_first_queue_if_the_chosen_one_is_not_active(queue):
    TicketQueueFactory(name="Others")
    type(TicketQueueFactory()).objects.filter(name="Messages").update(is_active=False)
    left(queue, state="ready", seconds=9)
    recordings.open_tickets()

    assert Ticket.objects.get().queue.name == "Others"
