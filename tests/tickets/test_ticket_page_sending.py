"""Replies and comments from the page of a ticket: each is sent once, and no typed text is lost."""

from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from tests.backoffice import BackOffice, inputs_of, messages_of, page_of, superuser
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomerFactory, ReceivedMailFactory, StoredFileFactory, TicketFactory
from tickets.models import CannedReply, Dispatch, Message, StoredFile, TicketStatus
from tickets.verbs.merges import merge_tickets
from tickets.verbs.messages import receive_message, reply_to
from tickets.verbs.tickets import edit_ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "own_storage")]


@pytest.fixture
def agent():
    return AgentFactory(name="Anna", surname="Nowak", user=UserFactory(admin=True))


@pytest.fixture
def client(agent):
    client = BackOffice()
    client.force_login(agent.user)
    return client


def filled(client, ticket, **changes):
    """Return the input of the page's forms. Keys without a prefix belong to the composer."""
    data = inputs_of(client.page(page_of(ticket))) | {"do": "write"}
    data |= {name if name in ("do", "canned") else f"m-{name}": value for name, value in changes.items()}
    return {name: value for name, value in data.items() if value is not None}


def send(client, ticket, **changes):
    return client.post(page_of(ticket), filled(client, ticket, **changes))


def said(response):
    """Return the text that the page shows again, and the errors of each field."""
    form = response.context["composer"]
    return form["body"].value(), {name: list(errors) for name, errors in form.errors.items()}


def test_a_reply_goes_to_the_customer_and_the_ticket_is_mine(client, agent):
    ticket = TicketFactory(sender="jan@client.example")

    response = send(client, ticket, body="<p>Try <b>now</b></p>", body_type="HTML", cc="a@x.example; b@x.example")

    assert (response.status_code, messages_of(response)) == (302, ["The reply is on its way."])
    message, dispatch = ticket.messages.get(), Dispatch.objects.get()
    ticket.refresh_from_db()
    assert (message.type, message.body) == ("REPLY", "<p>Try <b>now</b></p>")
    assert (message.agent, message.author_name) == (agent, "Anna Nowak")
    assert (dispatch.recipients, dispatch.copies) == (["jan@client.example"], ["a@x.example", "b@x.example"])
    assert (ticket.agent, ticket.status.kind) == (agent, "waiting_for_customer")


def test_a_reply_may_close_the_ticket_in_one_step_or_set_another_status(client, agent):
    ticket, other = TicketFactory(), TicketFactory()
    in_progress = TicketStatus.objects.get(kind="in_progress")

    send(client, ticket, body="Done", do="write_and_close")
    send(client, other, body="We look into it", then=f"s{in_progress.pk}")

    ticket.refresh_from_db()
    other.refresh_from_db()
    assert (ticket.status.kind, ticket.closed_by, other.status) == ("closed", agent, in_progress)
    notes = [note for note in ticket.messages.values_list("system_comment", flat=True) if note]
    assert notes == ["Changed status from [New] to [Closed]"]


def test_a_comment_is_no_reply(client, agent):
    ticket = TicketFactory()

    response = send(client, ticket, kind="comment", body="He is cross")
    messages = messages_of(response)

    message = ticket.messages.get()
    ticket.refresh_from_db()
    assert messages == ["The comment is there."]
    assert (message.type, message.comment, message.agent, ticket.agent) == ("COMMENT", "He is cross", agent, None)
    assert (Dispatch.objects.count(), ticket.status.kind) == (0, "new")


def test_a_user_without_an_agent_comments_under_their_own_name():
    client, ticket = superuser(), TicketFactory()

    send(client, ticket, body="Looks fine")

    message = ticket.messages.get()
    assert (message.comment, message.agent) == ("Looks fine", None)
    assert message.author_name.startswith("user-")
    assert message.author_name in client.page(page_of(ticket))


def test_a_marketplace_gets_plain_text_only(client):
    ticket = TicketFactory(source="marketplace_message")

    assert "data-editor" not in client.page(page_of(ticket))
    refused = send(client, ticket, body="<p>x</p>", body_type="HTML")
    # Without an editor, a text is plain.
    send(client, ticket, body="One\r\na < b")

    assert said(refused)[0] == "<p>x</p>"
    assert "plain text" in refused.content.decode()
    assert [(m.body, m.body_type) for m in ticket.messages.all()] == [("One\na < b", "PLAIN")]


def test_a_phone_ticket_without_an_address_is_commented_only(client):
    ticket = TicketFactory(source="phone", sender="+48225550107")

    page = client.page(page_of(ticket))

    assert "There is no address for a reply by mail." in page
    assert 'value="reply"' not in page


@pytest.mark.parametrize("source", ["phone", "sms", "chat", "www"])
def test_a_ticket_whose_customer_has_an_address_is_answered_by_mail(client, source):
    customer = CustomerFactory(email="jan@client.example")
    ticket = TicketFactory(source=source, sender="+48225550107", customer=customer)

    inputs = inputs_of(client.page(page_of(ticket)))
    response = send(client, ticket, kind="reply", body="<p>Here</p>", body_type="HTML")

    # What is written without a choice of the kind stays inside.
    assert (inputs["m-kind"], inputs["m-to"]) == ("comment", "jan@client.example")
    assert messages_of(response) == ["The reply is on its way."]
    assert (Dispatch.objects.get().source, Dispatch.objects.get().recipients) == ("email", ["jan@client.example"])


def test_an_answer_given_another_way_ends_the_target_and_takes_the_ticket(client, agent):
    late = timezone.now() - timedelta(hours=1)
    ticket = TicketFactory(source="phone", response_due_at=late)
    before = client.page(page_of(ticket))

    response = send(client, ticket, kind="answer", body="Told on the phone")

    ticket.refresh_from_db()
    message = ticket.messages.get(type="COMMENT")
    after = client.page(page_of(ticket))
    assert messages_of(response) == ["The comment is there, and the customer counts as answered."]
    assert (message.is_answer, ticket.agent, ticket.status.kind, ticket.owes_response) == (True, agent, "new", False)
    assert ("ends the target of the response" in before, "ends the target of the response" in after) == (True, False)
    assert "overdue by 1" in before
    assert "overdue by 1" not in after
    assert "answered another way" in after
    assert "the customer was answered: <ins>another way, as a comment says" in after


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"body": ""}, "body"),
        ({"body": "<p><br></p>", "body_type": "HTML"}, "body"),
        ({"body": "Text", "to": ""}, "to"),
        ({"body": "Text", "to": "nobody"}, "to"),
        ({"body": "Text", "cc": "a@x.example, nobody"}, "cc"),
        ({"body": "Text", "kind": "else"}, "kind"),
        ({"body": "Text", "then": "s999"}, "then"),
    ],
)
def test_a_refused_text_is_shown_again_with_its_faults(client, changes, field):
    ticket = TicketFactory()

    response = send(client, ticket, **changes)

    text, errors = said(response)
    assert (response.status_code, text, list(errors)) == (200, changes["body"], [field])
    assert not ticket.messages.exists()


def test_a_text_is_kept_if_the_ticket_was_merged_meanwhile(client):
    ticket, other = TicketFactory(), TicketFactory()
    data = filled(client, ticket, body="My long answer")
    merge_tickets(ticket, other, ACTOR)

    response = client.post(page_of(ticket), data)

    assert response.status_code == 200
    assert "My long answer" in response.content.decode()
    assert not Message.objects.filter(type="REPLY").exists()


def test_files_survive_a_refusal_and_are_sent_along(client, settings):
    ticket = TicketFactory()
    settings.MAX_UPLOAD_MB = 1
    contents = {"a.pdf": b"abc", "b.txt": b"de", "large.bin": b"x" * (1024 * 1024 + 1)}
    files = [SimpleUploadedFile(name, content) for name, content in contents.items()]
    refused = client.post(page_of(ticket), filled(client, ticket, body="See this") | {"m-attached": files})

    again = inputs_of(refused.content.decode())
    client.post(page_of(ticket), again | {"do": "write"})

    assert said(refused) == ("See this", {"attached": ["large.bin is larger than 1 MB."]})
    message = ticket.messages.get()
    assert [(file.filename, file.size) for file in message.files.all()] == [("a.pdf", 3), ("b.txt", 2)]
    assert message.attachments == [file.token for file in message.files.all()]


def test_a_file_of_another_user_cannot_be_attached(client):
    ticket, other = TicketFactory(), StoredFileFactory(user=UserFactory())

    send(client, ticket, body="x", kept=[other.token])

    assert ticket.messages.count() == 0
    assert StoredFile.objects.get().message is None


def test_the_same_form_twice_is_one_reply(client):
    ticket = TicketFactory()
    data = filled(client, ticket, body="Once")

    client.post(page_of(ticket), data)
    again = client.post(page_of(ticket), data)

    assert (again.status_code, ticket.messages.count()) == (302, 1)
    assert messages_of(again)[-1] == "This was sent already: it was not sent twice."


def test_a_text_written_before_new_messages_needs_confirmation(client):
    ticket = TicketFactory()
    data = filled(client, ticket, body="My answer")
    receive_message(ticket, ACTOR, body="<p>It works again!</p>", from_name="Jan")
    edit_ticket(ticket, ACTOR, tags=["solved"])

    asked = client.post(page_of(ticket), data)
    page = asked.content.decode()
    before = ticket.messages.filter(type="REPLY").count()
    client.post(page_of(ticket), inputs_of(page) | {"do": "write"})

    assert asked.status_code == 200
    assert "It works again!" in page[: page.index("Send all the same")]
    assert "solved" in page[: page.index("Send all the same")]
    assert (said(asked), before) == (("My answer", {}), 0)
    assert ticket.messages.get(type="REPLY").body == "My answer"


def test_all_recipients_of_the_customers_mail_may_be_answered(client):
    ticket = TicketFactory(sender="jan@client.example", queue__address="help@us.example")
    message = Message.objects.create(ticket=ticket, type="MAIL", body="x", author_address="eva@client.example")
    recipients = ["help@us.example", "jan@client.example"]
    ReceivedMailFactory(message=message, sender="eva@client.example", recipients=recipients)

    inputs = inputs_of(client.get(page_of(ticket), {"all": 1}).content.decode())

    assert (inputs["m-to"], inputs["m-cc"]) == ("eva@client.example", "jan@client.example")


def test_a_canned_reply_is_appended_to_the_text(client):
    ticket = TicketFactory(sender_name="Jan")
    CannedReply.objects.create(name="Greeting", body="<p>Dear {{ customer_name }}</p>")
    CannedReply.objects.create(name="Elsewhere", body="x", queue=TicketFactory().queue)

    page = client.page(page_of(ticket))
    response = send(client, ticket, body="So: ", do="canned", canned="greet")

    assert "Greeting" in page
    assert "Elsewhere" not in page
    assert said(response)[0] == "So: Dear Jan"
    assert not ticket.messages.exists()


@pytest.mark.parametrize("values", [{"error": "550 no"}, {"is_unknown": True}])
def test_a_failed_message_is_sent_again_by_a_person(client, values):
    ticket = TicketFactory()
    reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="<p>x</p>")
    Dispatch.objects.update(state="failed", next_attempt_at=None, begun_at=timezone.now(), attempt_count=3, **values)
    dispatch = Dispatch.objects.get()

    first = client.post(page_of(ticket), {"do": "send_again", "dispatch": dispatch.pk})
    dispatch.refresh_from_db()
    again = (dispatch.state, dispatch.begun_at, dispatch.is_unknown, dispatch.attempt_count)
    assert again == ("queued", None, False, 0)
    Dispatch.objects.update(state="sent", next_attempt_at=None)
    second = client.post(page_of(ticket), {"do": "send_again", "dispatch": dispatch.pk})
    assert messages_of(first)[0] == "The message is sent again."
    assert messages_of(second)[-1] == "The message was sent, or may just be being sent: it cannot be sent again."
    assert ticket.history.filter(action="resend").count() == 1
    assert client.post(page_of(TicketFactory()), {"do": "send_again", "dispatch": dispatch.pk}).status_code == 404


def test_two_presses_at_once_are_one_reply(committed_db):
    agent = AgentFactory(user=UserFactory(admin=True))
    ticket = TicketFactory()
    clients = [BackOffice(), BackOffice()]
    for each in clients:
        each.force_login(agent.user)
    data = filled(clients[0], ticket, body="Once")
    barrier, statuses = Barrier(2), []

    def press(client):
        from django.db import connection

        try:
            barrier.wait(timeout=60)
            statuses.append(client.post(page_of(ticket), data).status_code)
        finally:
            connection.close()

    threads = [Thread(target=press, args=(each,)) for each in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)

    assert (statuses, ticket.messages.count()) == ([302, 302], 1)
