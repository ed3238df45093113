"""A mail to several recipients, some of whom a real server refuses: no recipient gets it twice."""

from datetime import timedelta

import pytest
from django.utils import timezone

from callcentre.core.errors import Conflict
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory
from tests.tickets.mail_servers import MailServer, a_mail_server, due_now  # noqa: F401  (a fixture)
from tickets.mail.dispatcher import dispatch
from tickets.models import Dispatch
from tickets.verbs.dispatches import record_bounce, resend
from tickets.verbs.messages import reply_to

pytestmark = pytest.mark.django_db

ALL = ["jan@client.example", "eva@client.example", "gone@client.example"]
BUSY, GONE = "450 Mailbox busy", "550 No such user"


def a_reply() -> Dispatch:
    message = reply_to(
        TicketFactory(), ACTOR, agent_login=AgentFactory().login, body="Try again", recipients=ALL[:1], copies=ALL[1:]
    )
    return Dispatch.objects.get(message=message)


def sent(row: Dispatch) -> Dispatch:
    Dispatch.objects.filter(pk=row.pk, next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
    dispatch(row.pk)
    row.refresh_from_db()
    return row


def envelopes(server: MailServer) -> list[list[str]]:
    return [envelope.rcpt_tos for envelope in server.received]


def test_only_temporarily_refused_recipients_are_retried(server):
    server.rcpt_answers["eva@client.example"] = BUSY
    row = sent(a_reply())
    assert (row.state, row.condition) == ("queued", "sent, but not yet to eva@client.example")
    assert (row.error, row.accepted) == (f"eva@client.example: {BUSY}", ["jan@client.example", "gone@client.example"])

    server.rcpt_answers.clear()
    sent(row)

    assert envelopes(server) == [["jan@client.example", "gone@client.example"], ["eva@client.example"]]
    assert (row.state, row.condition, row.error, set(row.accepted)) == ("sent", "sent", "", set(ALL))
    # Each recipient sees the others.
    assert [mail["To"] for mail in server.mails] == ["jan@client.example"] * 2
    assert server.mails[0]["Message-ID"] == server.mails[1]["Message-ID"]


def test_temporarily_refused_recipients_wait_longer_each_time_and_fail_at_last(server):
    server.rcpt_answers["eva@client.example"] = BUSY
    row = a_reply()

    waited = []
    for _ in Dispatch.delays:
        sent(row)
        assert row.next_attempt_at is not None
        waited.append(round((row.next_attempt_at - timezone.now()) / timedelta(minutes=1)))
    sent(row)

    assert waited == [1, 5, 15, 60, 240, 720, 1440, 1440]
    assert len(server.received) == 1
    assert (row.state, row.refused) == ("sent", {"eva@client.example": BUSY})
    assert row.condition == "sent, but not to eva@client.example"
    assert due_now() == []


def test_finally_refused_recipients_are_not_retried(server):
    server.rcpt_answers |= {"eva@client.example": BUSY, "gone@client.example": GONE}
    row = sent(a_reply())
    waiting = (row.state, row.refused, row.condition)

    server.rcpt_answers.clear()
    sent(row)

    assert waiting == ("queued", {"gone@client.example": GONE}, "sent, but not yet to eva@client.example")
    assert envelopes(server) == [["jan@client.example"], ["eva@client.example"]]
    assert (row.state, row.error) == ("sent", f"gone@client.example: {GONE}")
    assert row.condition == "sent, but not to gone@client.example"


def test_finally_refused_recipients_are_left_out_if_none_was_accepted(server):
    server.rcpt_answers |= dict.fromkeys(ALL, BUSY) | {"gone@client.example": GONE}
    row = sent(a_reply())
    assert (row.state, row.accepted, row.condition) == ("queued", [], "waits for another attempt")

    server.rcpt_answers |= dict.fromkeys(ALL, GONE)
    sent(row)

    assert (row.state, row.condition, set(row.refused)) == ("failed", "failed", set(ALL))


def test_a_person_sends_it_again_to_refused_recipients(server):
    server.rcpt_answers["gone@client.example"] = GONE
    row = sent(a_reply())
    assert row.may_be_resent

    server.rcpt_answers.clear()
    resend(row, ACTOR)
    assert row.condition == "sent, but not yet to gone@client.example"
    sent(row)

    assert envelopes(server) == [ALL[:2], ["gone@client.example"]]
    assert (row.state, row.refused, set(row.accepted)) == ("sent", {}, set(ALL))
    with pytest.raises(Conflict):
        resend(row, ACTOR)


@pytest.mark.parametrize("answer", ["451 Not now", "552 Too large"])
def test_a_later_refusal_does_not_concern_accepted_recipients(server, answer):
    server.rcpt_answers["eva@client.example"] = BUSY
    row = sent(a_reply())
    server.rcpt_answers.clear()
    server.data_answer = answer
    sent(row)
    state, refused = ("queued", {}) if answer[0] == "4" else ("sent", {"eva@client.example": answer})
    assert (row.state, row.refused, row.error) == (state, refused, f"eva@client.example: {answer}")

    server.data_answer = "250 Taken"
    resend(row, ACTOR)
    sent(row)

    assert envelopes(server)[1:] == [["eva@client.example"]] * 2
    assert (row.state, row.error) == ("sent", "")


def test_after_an_unknown_outcome_accepted_recipients_get_no_second_mail(server):
    server.rcpt_answers["eva@client.example"] = BUSY
    row = sent(a_reply())
    server.rcpt_answers.clear()
    server.drops = True
    sent(row)
    assert (row.state, row.is_unknown, due_now()) == ("failed", True, [])

    server.drops = False
    resend(row, ACTOR)
    sent(row)

    assert envelopes(server) == [["jan@client.example", "gone@client.example"], *[["eva@client.example"]] * 2]
    assert (row.state, row.condition) == ("sent", "sent")


def test_a_repeated_address_gets_one_mail(server):
    row = a_reply()
    Dispatch.objects.filter(pk=row.pk).update(copies=["Jan@client.example", "eva@client.example"])
    row.refresh_from_db()

    sent(row)

    assert envelopes(server) == [ALL[:2]]


def test_a_refused_international_domain_is_recognised(server):
    row = a_reply()
    Dispatch.objects.filter(pk=row.pk).update(copies=["jan@zażółć.example"])
    server.rcpt_answers["jan@xn--za-6ja4f8n1l.example"] = GONE
    row.refresh_from_db()

    sent(row)

    assert (row.accepted, list(row.refused)) == (["jan@client.example"], ["jan@zażółć.example"])


def test_only_a_bounced_recipient_is_sent_it_again(server):
    row = sent(a_reply())

    record_bounce(row, ACTOR, "552 Mailbox full", ["EVA@client.example", "unknown@client.example"])
    record_bounce(row, ACTOR, "552 Mailbox full", ["eva@client.example"])
    record_bounce(row, ACTOR, "554 Gone", ["gone@client.example"])
    assert (row.condition, row.message.ticket.history.filter(action="bounce").count()) == ("bounced", 2)
    assert row.error == "eva@client.example: 552 Mailbox full; gone@client.example: 554 Gone"
    resend(row, ACTOR)
    sent(row)

    assert envelopes(server) == [ALL, ["eva@client.example", "gone@client.example"]]
    assert (row.state, row.bounced_at, row.condition) == ("sent", None, "sent")


def test_a_bounce_does_not_stop_the_waiting_recipients(server):
    server.rcpt_answers["eva@client.example"] = BUSY
    row = sent(a_reply())

    record_bounce(row, ACTOR, "550 Gone", ["gone@client.example"])
    server.rcpt_answers.clear()
    sent(row)

    assert envelopes(server) == [["jan@client.example", "gone@client.example"], ["eva@client.example"]]
    assert (row.state, row.condition, list(row.refused)) == ("sent", "bounced", ["gone@client.example"])


def test_accepted_recipients_are_in_no_envelope_after_a_worker_died(server):
    server.rcpt_answers["eva@client.example"] = BUSY
    row = sent(a_reply())
    # The server had begun to receive the message when the worker died.
    past = timezone.now() - timedelta(minutes=1)
    Dispatch.objects.filter(pk=row.pk).update(begun_at=past, next_attempt_at=past)
    server.rcpt_answers.clear()

    dispatch(row.pk)
    row.refresh_from_db()
    assert (row.state, row.is_unknown) == ("failed", True)
    resend(row, ACTOR)
    sent(row)

    assert envelopes(server)[1:] == [["eva@client.example"]]
