"""Pages that follow the task of a worker in Chromium: a deletion and the test of a mailbox."""

from typing import Any

import pytest
from playwright.sync_api import expect

from callcentre.core import deletions
from callcentre.core.deletions import Deletion
from tests.backoffice import page_of
from tests.browser.conftest import Visit
from tests.tickets.factories import TicketFactory, TicketQueueFactory
from tests.tickets.imap_server import Mailbox, serving
from tickets.mail import mailbox_connection
from tickets.models import Ticket

pytestmark = pytest.mark.usefixtures("plain_static")


def test_a_ticket_is_deleted_and_the_page_says_when_it_is_gone(visit: Visit) -> None:
    ticket = TicketFactory(subject="Where is my parcel?")
    page = visit.open(page_of(ticket))

    page.get_by_role("link", name="Delete", exact=True).click()
    page.get_by_label("Reason").fill("request of 21 November")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("The deletion waits for a worker.")).to_be_visible()
    deletions.run(Deletion.objects.get().pk)

    expect(page.get_by_text("finished", exact=True)).to_be_visible()
    expect(page.get_by_text("request of 21 November")).to_be_visible()
    assert not Ticket.objects.exists()
    assert visit.trouble == []


@pytest.mark.trial
def test_the_page_of_a_mailbox_shows_the_result_of_the_test(visit: Visit, settings: Any) -> None:
    settings.MAILBOX_ALLOWED_NETWORKS = ["127.0.0.1"]
    with serving(Mailbox()) as box:
        box.add(b"From: a@b.example\n\nx")
        plain = {"imap_uses_tls": False, "imap_allows_plain": True}
        queue = TicketQueueFactory(
            imap_host="127.0.0.1", imap_port=box.port, imap_user=box.user, imap_password=box.password, **plain
        )
        page = visit.open(page_of(queue, "test_connection"))

        page.get_by_role("button", name="Test").click()
        expect(page.get_by_text("The test waits for a worker.")).to_be_visible()
        mailbox_connection.run_test(queue.pk)

        expect(page.get_by_text("It works. Mails in the folder: 1, unread: 1.")).to_be_visible()
    assert visit.trouble == []
