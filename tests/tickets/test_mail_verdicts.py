"""What our receiving server says of a mail: who wrote it, and spam; blocked senders; addresses that bounced."""

from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.urls import reverse
from django.utils import timezone

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.file_removals import FileRemoval
from callcentre.models import User
from tests.backoffice import page_of, superuser
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import BlockedSenderFactory, TicketQueueFactory
from tests.tickets.mails import a_mail, answered, taken
from tickets.mail.intake import process
from tickets.mail.server_verdicts import is_called_spam, is_failing, verdicts_of
from tickets.models import BlockedSender, BouncedAddress, Message, ReceivedMail, Ticket
from tickets.verbs.dispatches import record_bounce
from tickets.verbs.received_mails import block_sender, delete_expired_spam, retry_mail

pytestmark = pytest.mark.usefixtures("db", "own_storage", "plain_static")
OURS = "mx.us.example"
FAILS = f"{OURS}; spf=fail smtp.mailfrom=client.example; dkim=none; dmarc=fail (p=none) header.from=client.example"
PASSES = f"{OURS}; spf=pass; dkim=pass header.d=client.example; dmarc=pass"


@pytest.fixture(autouse=True)
def our_server(settings):
    settings.AUTHENTICATION_SERVERS = [OURS]


# Who wrote it


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ([PASSES], "spf=pass dkim=pass dmarc=pass"),
        ([FAILS], "spf=fail dkim=none dmarc=fail"),
        (["MX.US.Example 1; dmarc=pass"], "dmarc=pass"),
        (["evil.example; dmarc=pass"], ""),
        ([f"{OURS}; none"], ""),
        # The server writes above what came with the mail.
        ([FAILS, PASSES], "spf=fail dkim=none dmarc=fail"),
        # Filters of one server each write a header of their own.
        ([f"{OURS}; dmarc=pass", f"{OURS}; dkim=pass", f"{OURS}; spf=softfail"], "spf=softfail dkim=pass dmarc=pass"),
        # One of several signatures passes.
        ([f"{OURS}; dkim=fail header.d=list.example; dkim=pass header.d=client.example"], "dkim=pass"),
        # Comments, quoted strings and versions are no results.
        ([f'{OURS}; spf/1 = pass (dmarc=pass; (x)) reason="a; dmarc=pass"; dkim-adsp=pass; auth=pass'], "spf=pass"),
        (["spf=pass (sender IP is 1.2.3.4); dkim=pass; dmarc=pass action=none;compauth=pass"], ""),
    ],
)
def test_results_of_our_own_server_count(headers, found):
    assert verdicts_of({"authentication-results": headers}) == found


def test_a_header_without_a_name_counts_where_the_settings_say_so(settings):
    settings.AUTHENTICATION_SERVERS = ["-"]

    assert (
        verdicts_of({"authentication-results": ["spf=none; dkim=none; dmarc=fail"]}) == "spf=none dkim=none dmarc=fail"
    )


def test_dmarc_decides_and_without_it_spf_and_dkim_together():
    fails = ["dmarc=fail", "spf=pass dkim=pass dmarc=fail", "spf=fail", "spf=softfail dkim=none dmarc=none"]
    passes = ["", "spf=fail dkim=fail dmarc=pass", "spf=fail dkim=pass", "spf=neutral", "spf=none dkim=none dmarc=none"]

    assert [is_failing(each) for each in (*fails, *passes)] == [True] * 4 + [False] * 5


def test_a_mail_whose_sender_is_not_confirmed_joins_no_ticket_by_its_address():
    TicketQueueFactory()
    first = taken(a_mail(Subject="Lamp", Message_ID="<1@client.example>"))
    ticket = Ticket.objects.get()
    tag = {"Subject": f"Re: [#{ticket.pk}] Lamp", "In_Reply_To": "<1@client.example>"}

    forged = taken(a_mail("Send it to me", Authentication_Results=FAILS, **tag))
    true = taken(a_mail("Thanks", Authentication_Results=PASSES, **tag))

    assert (forged.message.ticket_id == ticket.pk, true.message.ticket_id == ticket.pk) == (False, True)
    assert (first.message.verdicts, forged.message.verdicts) == ("", "spf=fail dkim=none dmarc=fail")
    page = superuser().get(page_of(forged.message.ticket)).text
    assert "sender not confirmed" in page
    assert "SPF fail, DKIM none, DMARC fail" in page


def test_an_unconfirmed_answer_to_our_own_signed_mail_joins_its_ticket():
    ticket, sending = answered(sender="jan@client.example", source="email")

    got = taken(a_mail(Authentication_Results=FAILS, In_Reply_To=f"<{sending.header_id}>"))

    assert got.message.ticket_id == ticket.pk


# Spam


@pytest.mark.parametrize(
    ("name", "value", "is_spam"),
    [
        ("x-spam-flag", "YES", True),
        ("x-spam-status", "Yes, score=9.1 required=5.0 tests=SPAM", True),
        ("x-spam-status", "No, score=0.1 tests=yes", False),
        ("x-other", "Yes", False),
        ("x-ms-exchange-organization-scl", "9", True),
        ("x-ms-exchange-organization-scl", "-1", False),
        ("x-forefront-antispam-report", "CIP:1.2.3.4;SFV:SPM;H:x", True),
    ],
)
def test_the_headers_of_the_setting_call_a_mail_spam(settings, name, value, is_spam):
    settings.SPAM_HEADERS += ["X-MS-Exchange-Organization-SCL=9", "X-Forefront-Antispam-Report=SFV:SPM"]
    texts: dict[str, list[str]] = {each.lower().partition("=")[0]: [] for each in settings.SPAM_HEADERS}

    assert is_called_spam({**texts, name: [value]}) is is_spam


def test_spam_is_kept_apart_and_restored_in_one_click():
    TicketQueueFactory()
    mail = taken(a_mail(X_Spam_Flag="YES"))
    assert (mail.outcome, mail.reason, Ticket.objects.count()) == ("spam", "our mail server calls it spam", 0)
    client = superuser()

    client.post(reverse("admin:tickets_receivedmail_restore", args=[mail.pk]))
    process(mail.pk)

    mail.refresh_from_db()
    assert (mail.outcome, Message.objects.count()) == ("stored", 1)


def test_an_answer_to_our_mail_is_no_spam_whatever_the_server_says():
    _ticket, sending = answered(sender="jan@client.example", source="email")

    assert taken(a_mail(X_Spam_Flag="YES", In_Reply_To=f"<{sending.header_id}>")).outcome == "stored"


@pytest.mark.parametrize(
    ("entry", "sender", "is_blocked"),
    [
        ("shop@spam.example", "Shop@Spam.example", True),
        ("shop@spam.example", "other@spam.example", False),
        ("spam.example", "other@news.spam.example", True),
        ("spam.example", "other@notspam.example", False),
    ],
)
def test_mail_of_a_blocked_address_or_domain_is_kept_apart(entry, sender, is_blocked):
    TicketQueueFactory()
    BlockedSenderFactory(entry=entry)

    mail = taken(a_mail(From=sender))

    assert (mail.outcome, mail.reason) == (
        ("spam", f"its sender is blocked: {entry}") if is_blocked else ("stored", "")
    )


def test_a_mail_of_a_blocked_sender_that_is_restored_stays_restored():
    TicketQueueFactory()
    BlockedSenderFactory(entry="client.example")
    mail = taken(a_mail())

    retry_mail(mail, ACTOR)
    process(mail.pk)

    mail.refresh_from_db()
    assert mail.outcome == "stored"
    assert taken(a_mail("Again")).outcome == "spam"


def test_a_sender_is_blocked_in_one_click_at_the_ticket_and_at_the_mail_and_by_hand():
    TicketQueueFactory()
    first, second = taken(a_mail()), taken(a_mail(From="shop@spam.example", Subject="Buy"))
    client = superuser()

    client.post(page_of(first.message.ticket), {"do": "block"})
    client.post(reverse("admin:tickets_receivedmail_block", args=[second.pk]))
    client.post(reverse("admin:tickets_blockedsender_add"), {"entry": " @Worse.example "})

    entries = ["jan@client.example", "shop@spam.example", "worse.example"]
    assert list(BlockedSender.objects.values_list("entry", flat=True)) == entries
    assert "Block the sender" not in client.get(page_of(first.message.ticket)).text


@pytest.mark.parametrize("entry", ["", "example", "a b@c.example", "@", "x@y"])
def test_what_is_no_address_and_no_domain_is_not_blocked(entry):
    with pytest.raises(Invalid) as refusal:
        block_sender(entry, ACTOR)

    assert list(refusal.value.faults) == [Fault(ErrorCode.SENDER_MALFORMED, "entry")]


def test_spam_is_deleted_after_thirty_days_with_its_file():
    TicketQueueFactory()
    old, young = (taken(a_mail(X_Spam_Flag="YES", Subject=each)) for each in ("old", "young"))
    ReceivedMail.objects.filter(pk=old.pk).update(received_at=timezone.now() - timedelta(days=30, minutes=1))

    assert delete_expired_spam() == 1

    assert list(ReceivedMail.objects.all()) == [young]
    assert list(FileRemoval.objects.values_list("path", flat=True)) == [old.path]
    assert default_storage.exists(young.path)


def test_the_next_reply_to_an_address_that_bounced_warns_until_a_mail_comes_from_it(own_storage):
    ticket, sending = answered(sender="jan@client.example", source="email")
    warning = "The last mail to jan@client.example could not be delivered"
    # Only agents reply.
    client = superuser()
    AgentFactory(user=User.objects.get(is_superuser=True))
    page = page_of(ticket)
    assert warning not in client.get(page).text

    record_bounce(sending, ACTOR, "550 no such user", ["jan@client.example"])
    assert warning in client.get(page).text
    assert BouncedAddress.objects.get().reason == "550 no such user"

    taken(a_mail(Auto_Submitted="auto-replied"))
    assert warning in client.get(page).text
    taken(a_mail("I am back", From="Jan@client.example"))
    assert warning not in client.get(page).text


def test_a_bounce_that_names_nobody_marks_the_only_recipient():
    for copies, marked in ([], ["jan@client.example"]), (["eva@client.example"], []):
        BouncedAddress.objects.all().delete()
        _ticket, sending = answered(sender="jan@client.example", source="email")
        sending.copies = copies
        sending.save()

        record_bounce(sending, ACTOR, "550")

        assert list(BouncedAddress.objects.values_list("address", flat=True)) == marked
