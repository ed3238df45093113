"""The composition of mails: headers, parts, and protection against injected headers."""

from email.message import EmailMessage
from email.utils import parseaddr
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from callcentre.core.errors import Invalid
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomerFactory, TicketFactory, TicketQueueFactory
from tests.tickets.mail_servers import mail_server
from tickets.file_storage import store, type_of
from tickets.mail.composition import compose
from tickets.mail.dispatcher import RELATED, dispatch
from tickets.models import AgentPreferences, CannedReply, Dispatch, Message, ReceivedMail, StoredFile, Ticket
from tickets.models.participants import participants_of
from tickets.verbs.messages import receive_message, reply_to

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _public_url(settings, own_storage):
    settings.PUBLIC_URL = "https://desk.example"


def reply(ticket: Ticket, body: str = "<p>Try again</p>", **values: Any) -> Message:
    agent = values.pop("agent", None) or AgentFactory()
    return reply_to(ticket, ACTOR, agent_login=agent.login, body=body, **values)


def received(ticket: Ticket, header_id: str, **values: Any) -> Message:
    message = receive_message(ticket, ACTOR, body="Help!", from_address="jan@client.example")
    ReceivedMail.objects.create(
        sha256=header_id[:64], header_id=header_id, message=message, size=1, sender="jan@client.example", **values
    )
    return message


def mail_of(message: Message, settings: Any) -> EmailMessage:
    """Return the mail as the server received it."""
    header_id = Dispatch.objects.get(message=message).header_id
    with mail_server(settings) as server:
        dispatch(message.dispatch.pk)
    (mail,) = (mail for mail in server.mails if mail["Message-ID"] == f"<{header_id}>")
    return mail


def part(mail: EmailMessage, kind: str) -> str:
    found = mail.get_body((kind,))
    assert found is not None
    return str(found.get_content()).replace("\r\n", "\n")


def a_file(filename: str, content: bytes) -> StoredFile:
    stored = store(BytesIO(content), 1000)
    return StoredFile.objects.create(
        token=stored.token,
        filename=filename,
        content_type=type_of(filename),
        size=stored.size,
        sha256=stored.sha256,
        path=stored.path,
        user_id=None,
    )


def test_a_mail_references_all_earlier_mails_and_keeps_the_subject(settings):
    ticket = TicketFactory(subject="Odp: Re: Broken  lamp")
    received(ticket, "first@client.example")
    first = reply(ticket)
    received(ticket, "second@client.example")

    mail = mail_of(reply(ticket), settings)

    ours = first.dispatch.header_id
    assert mail["In-Reply-To"] == "<second@client.example>"
    assert mail["References"] == f"<first@client.example> <{ours}> <second@client.example>"
    assert mail["Subject"] == f"Re: [#{ticket.pk}] Broken lamp"
    assert mail["Thread-Topic"] == "Broken lamp"
    ticket.subject = f"AW: {mail['Subject']}"
    ticket.save()
    assert mail_of(reply(ticket), settings)["Subject"] == mail["Subject"]


def test_a_long_conversation_references_its_first_and_last_mails(settings):
    ticket = TicketFactory()
    for number in range(30):
        received(ticket, f"{number}@client.example")

    references = mail_of(reply(ticket), settings)["References"].split()

    assert [len(references), references[0], references[1], references[-1]] == [
        20,
        *(f"<{number}@client.example>" for number in (0, 11, 29)),
    ]


def test_an_invalid_message_id_is_not_referenced(settings):
    ticket = TicketFactory()
    received(ticket, "good@client.example")
    received(ticket, "żółw@client.example")

    assert mail_of(reply(ticket), settings)["References"] == "<good@client.example>"


@pytest.mark.parametrize("break_", ["\r\n", "\n", "\r", "\x0b", "\x85", "\u2028", "\r\n "])
def test_no_line_break_becomes_a_header(settings, break_):
    evil = f"x{break_}Bcc: eve@else.example{break_}{break_}body"
    queue = TicketQueueFactory(sender_name=f"Desk{break_}Bcc: eve@else.example", address="help@us.example")
    agent = AgentFactory(name=f"A{break_}Bcc: eve@else.example")

    with mail_server(settings) as server:
        message = reply(TicketFactory(subject=evil, queue=queue), agent=agent)
        dispatch(Dispatch.objects.get(message=message).pk)

    (mail,) = server.mails
    assert "Bcc" not in mail
    assert server.received[0].rcpt_tos == ["jan@client.example"]
    assert parseaddr(mail["From"])[1] == "help@us.example"
    assert part(mail, "plain") == "Try again\n"


@pytest.mark.parametrize(
    "address", ["eve@else.example\r\nBcc: x@y.example", "a@b.example, c@d.example", "Jan <a@b.example>", "nobody", "@"]
)
def test_an_invalid_address_is_refused(address):
    ticket = TicketFactory()

    with pytest.raises(Invalid) as refusal:
        reply(ticket, recipients=["good@client.example", address], copies=[address])

    assert [(fault.code.number, fault.field) for fault in refusal.value.faults] == [
        (150012, "recipients.1"),
        (150012, "copies.0"),
    ]
    assert not Dispatch.objects.exists()


def test_a_ticket_without_a_sender_uses_the_customers_address():
    customer = CustomerFactory(email="jan@home.example")

    reply(TicketFactory(sender="Jan @ home", customer=customer))

    assert Dispatch.objects.get().recipients == ["jan@home.example"]


# Bodies


def test_the_signature_of_the_agent_stands_before_that_of_the_queue(settings):
    agent, queue = AgentFactory(name="Eva", surname=""), TicketQueueFactory(signature="<p>Shop</p>")
    AgentPreferences.objects.create(agent=agent, signature="<p>{{ agent_name }}, Returns</p>")
    ticket = TicketFactory(queue=queue)

    mails = [mail_of(reply(ticket, "Try again", agent=agent, body_type=kind), settings) for kind in ("HTML", "PLAIN")]

    texts = [part(mail, "plain").split() for mail in mails]
    assert [text[-3:] for text in texts] == [["Eva,", "Returns", "Shop"]] * 2


def test_a_mail_is_text_and_html_with_the_queues_signature_and_template(settings):
    queue = TicketQueueFactory(
        sender_name="Desk",
        address="help@us.example",
        signature="<p>{{ agent_name }}, {{ queue_name }}</p>",
        template="<div>{{ body }}</div><hr>{{ signature }}",
    )
    agent = AgentFactory(name="Anna", surname="<Nowak>")

    mail = mail_of(
        reply(TicketFactory(queue=queue), '<p>See <a href="https://a.example/x">here</a></p>', agent=agent), settings
    )

    assert mail["From"] == "Desk <help@us.example>"
    assert mail.get_content_type() == "multipart/alternative"
    assert '<div><p>See <a href="https://a.example/x"' in part(mail, "html")
    assert "<hr><p>Anna &lt;Nowak&gt;, Desk</p>" in part(mail, "html")
    assert part(mail, "plain").split("\n") == ["See here (https://a.example/x)", "", "Anna <Nowak>, Desk", ""]


def test_a_template_without_a_body_placeholder_loses_no_reply_and_plain_text_is_as_html(settings):
    queue = TicketQueueFactory(template="<p>Footer</p>")

    markup = part(mail_of(reply(TicketFactory(queue=queue), "a < b\nc", body_type="PLAIN"), settings), "html")

    assert markup.index("<p>a &lt; b<br>\nc</p>") < markup.index("Footer")


def test_the_text_of_an_agent_is_inserted_and_not_run(settings):
    queue = TicketQueueFactory(signature="secret")

    message = reply(TicketFactory(queue=queue), "{{ signature }} {% debug %} {{ settings }}", body_type="PLAIN")

    assert part(mail_of(message, settings), "plain") == "{{ signature }} {% debug %} {{ settings }}\n\n-- \nsecret\n"


@pytest.mark.parametrize(("language", "question"), [("en", "Are you satisfied"), ("pl", "Czy ")])
def test_a_reply_asks_for_a_rating_in_the_language_of_its_queue(settings, language, question):
    queue = TicketQueueFactory(asks_for_rating=True, language=language)

    mail = mail_of(reply(TicketFactory(queue=queue)), settings)

    assert f'lang="{language}"' in part(mail, "html")
    assert question in part(mail, "plain")
    assert "https://desk.example/ratings/" in part(mail, "plain")
    assert 'href="https://desk.example/ratings/' in part(mail, "html")


def test_a_service_without_an_address_asks_for_no_rating(settings):
    settings.PUBLIC_URL = ""

    mail = mail_of(reply(TicketFactory(queue=TicketQueueFactory(asks_for_rating=True))), settings)

    assert "ratings" not in part(mail, "plain") + part(mail, "html")


# Files


def attach(message: Message, *files: StoredFile) -> None:
    StoredFile.objects.filter(pk__in=[file.pk for file in files]).update(message=message)


def test_files_arrive_byte_for_byte_under_their_names(settings):
    message = reply(TicketFactory())
    contents = {
        'rechnung Łódź "1".pdf': b"%PDF\r\n\n\x00",
        "plain.txt": b"\xef\xbb\xbfone\r\ntwo\nthree",
        "mail.eml": b"Subject: x\n\ny",
    }
    attach(message, *(a_file(name, content) for name, content in contents.items()))

    mail = mail_of(message, settings)

    assert mail.get_content_type() == "multipart/mixed"
    found = {each.get_filename(): each.get_payload(decode=True) for each in mail.iter_attachments()}
    assert found == contents


def test_an_image_that_the_html_shows_is_part_of_it(settings):
    image, beside = a_file("logo.png", b"\x89PNG1"), a_file("photo.png", b"\x89PNG2")
    message = reply(TicketFactory(), f'<p>Look:</p><img src="cid:{image.token}">')
    attach(message, image, beside)

    mail = mail_of(message, settings)

    kinds = [each.get_content_type() for each in mail.walk()]
    assert kinds == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "image/png",
    ]
    shown, attached = (each for each in mail.walk() if each.get_content_type() == "image/png")
    assert (shown["Content-ID"], shown.get_content_disposition()) == (f"<{image.token}>", "inline")
    assert (attached["Content-ID"], attached.get_content_disposition()) == (None, "attachment")


def test_a_mail_whose_file_is_gone_fails_and_says_so(settings):
    message = reply(TicketFactory())
    file = a_file("a.pdf", b"x")
    attach(message, file)
    Path(settings.STORAGES["default"]["OPTIONS"]["location"], file.path).unlink()

    with mail_server(settings) as server:
        dispatch(message.dispatch.pk)

    failed = message.dispatch
    failed.refresh_from_db()
    assert (failed.state, failed.error) == ("failed", "an attachment is not in the storage any more")
    assert not server.received


def test_a_long_conversation_needs_no_more_queries():
    ticket = TicketFactory()
    for number in range(20):
        received(ticket, f"{number}@client.example")
    message = reply(ticket)
    due = Dispatch.objects.select_related(*RELATED).get(message=message)

    with few_statements(3):
        compose(due)


def test_a_reply_to_all_goes_to_all_others():
    TicketQueueFactory(address="Help@us.example")
    ticket = TicketFactory()
    received(ticket, "first@client.example", recipients=["other@client.example"])
    received(
        ticket, "second@client.example", recipients=["help@us.example", "ewa@client.example", "jan@client.example", "x"]
    )

    assert participants_of(ticket) == (["jan@client.example"], ["ewa@client.example"])


def test_a_copy_is_sent(settings):
    with mail_server(settings) as server:
        message = reply(TicketFactory(), copies=["ewa@client.example"])
        dispatch(message.dispatch.pk)

    assert server.mails[0]["Cc"] == "ewa@client.example"
    assert server.received[0].rcpt_tos == ["jan@client.example", "ewa@client.example"]


def test_a_canned_reply_fills_its_placeholders():
    canned = CannedReply(
        body="<p>Dear {{ customer_name }},</p><p>{{ ticket_id }} {{ unknown }}<script>x</script></p>"
        "<p>{{agent_name}}</p>"
    )
    ticket = TicketFactory(customer=CustomerFactory(name="Jan", surname="<Kowal>"))
    agent = AgentFactory(name="Anna", surname="Nowak")

    markup = canned.text_for(ticket, agent)
    text = canned.text_for(ticket, agent, "PLAIN")

    assert markup == (f"<p>Dear Jan &lt;Kowal&gt;,</p><p>{ticket.pk} {{{{ unknown }}}}</p><p>Anna Nowak</p>")
    assert text == f"Dear Jan <Kowal>,\n{ticket.pk} {{{{ unknown }}}}\nAnna Nowak"
