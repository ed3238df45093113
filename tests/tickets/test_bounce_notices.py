"""Notices of mail servers that are text alone: a delay is no bounce."""

import pytest

from tests.tickets.mails import answered, taken

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]

DELAYS = {
    "sendmail": (
        "Warning: could not send message for past 4 hours",
        (
            "    **********************************************\n    **      THIS IS A WARNING MESSAGE ONLY      **\n"
            "    **  YOU DO NOT NEED TO RESEND YOUR MESSAGE  **\n    **********************************************\n"
            "   ----- The following addresses had transient non-fatal errors -----\n<jan@client.example>\n"
        ),
    ),
    "exim": (
        "Warning: message 1kXyZ-0001-AB delayed 24 hours",
        (
            "A message that you sent has not yet been "
            "delivered to one or more of its\nrecipients after more than 24 hours on the queue.\n\n"
            "No action is required on your part. Delivery attempts will continue for\nsome time.\n"
        ),
    ),
    "postfix": (
        "Delayed Mail (still being retried)",
        (
            "Your message could not be delivered for more than 4 hour(s).\n"
            "It will be retried until it is 5 day(s) old.\n"
        ),
    ),
    "gmail": (
        "Delivery Status Notification (Delay)",
        "There was a temporary problem. Gmail will retry for 46 hours.\n",
    ),
    "subject alone": ("Delivery delayed: Re: Broken", "Sorry.\n"),
    "text alone": ("Your mail to jan@client.example", "It is still being retried.\n"),
    "success": ("Successful Mail Delivery Report", "Your message was successfully delivered to jan@client.example.\n"),
}
FAILURES = {
    "sendmail": ("Returned mail: see transcript for details", "   ----- 550 5.1.1 User unknown -----\n"),
    "exim": ("Mail delivery failed: returning message to sender", "This is a permanent error.\n"),
    "exchange": ("Undeliverable: Where is my delayed order", "Your message couldn't be delivered.\n"),
    "given up": ("Undelivered Mail Returned to Sender", "It was delayed for 5 days. It is not tried again.\n"),
    "quoted": (
        "Undelivered Mail",
        "User unknown.\n\n------ This is a copy of your message ------\nNo action is required on your part.\n",
    ),
    "quoted headers": ("Undelivered Mail", "No such user.\n\nSubject: x\n\nThis is a warning message only\n"),
}


def notice(subject: str, text: str, header_id: str, sender: str = "MAILER-DAEMON@mx.example") -> bytes:
    return f"From: {sender}\nTo: help@us.example\nSubject: {subject}\n\n{text}\nMessage-ID: <{header_id}>\n".encode()


@pytest.mark.parametrize("name", DELAYS)
def test_a_delay_in_words_joins_its_ticket_and_is_no_bounce(name: str) -> None:
    ticket, dispatch = answered()

    received = taken(notice(*DELAYS[name], dispatch.header_id))

    dispatch.refresh_from_db()
    assert (dispatch.bounced_at, received.message.ticket, received.message.is_automatic) == (None, ticket, True)


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_in_words_is_a_bounce(name: str) -> None:
    _ticket, dispatch = answered()

    taken(notice(*FAILURES[name], dispatch.header_id, "postmaster@mx.example"))

    dispatch.refresh_from_db()
    assert dispatch.bounced_at is not None


def test_a_delay_that_names_failed_recipients_in_a_header_is_no_bounce() -> None:
    _ticket, dispatch = answered()
    raw = b"X-Failed-Recipients: jan@client.example\n" + notice(*DELAYS["gmail"], dispatch.header_id)

    taken(raw)

    dispatch.refresh_from_db()
    assert dispatch.bounced_at is None
