"""Mail in the admin: received mail is retried or discarded, outgoing messages are sent again."""

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.urls import reverse
from django.utils import timezone

from callcentre.core.errors import ErrorCode
from tests.backoffice import errors_of, messages_of, page_of, shown, staff, superuser
from tests.tickets.factories import DispatchFactory, RatingFactory, ReceivedMailFactory, StoredFileFactory
from tickets.models import Dispatch, ReceivedMail

RECEIVED = reverse("admin:tickets_receivedmail_changelist")
SENT = reverse("admin:tickets_dispatch_changelist")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


# Received mail


def test_the_quarantine_is_a_filter_of_the_list():
    stored, held = ReceivedMailFactory(stored=True), ReceivedMailFactory(quarantined=True)

    page = superuser().page(RECEIVED, outcome="quarantined")

    assert shown(page, stored, held) == [held]
    assert "a bounce of no mail of ours" in page


@pytest.mark.parametrize("term", ["jan@client.example", "<1@client.example>"])
def test_mail_is_found_by_its_sender_and_its_message_id(term):
    mail = ReceivedMailFactory(sender="jan@client.example", header_id="1@client.example")
    other = ReceivedMailFactory(sender="ewa@client.example", header_id="2@client.example")

    assert shown(superuser().page(RECEIVED, q=term), mail, other) == [mail]


def test_a_mail_is_downloaded_as_it_came_and_never_shown():
    raw = b"Subject: Hello\r\n\r\n<script>alert(1)</script>\r\n"
    mail = ReceivedMailFactory(path=default_storage.save("files/2026/01/01/raw", ContentFile(raw)))
    client = superuser()

    response = client.get(page_of(mail, "raw"))

    assert response.getvalue() == raw
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert staff("view_ticket").get(page_of(mail, "raw")).status_code == 403
    for path in ("", "files/2026/01/01/gone"):
        assert client.get(page_of(ReceivedMailFactory(path=path), "raw")).status_code == 404


def test_a_mail_in_quarantine_is_tried_again_once():
    mail, client = ReceivedMailFactory(quarantined=True), superuser()

    response = client.submit(page_of(mail, "retry"))

    mail.refresh_from_db()
    assert mail.outcome == "received"
    assert messages_of(response)[0].startswith("1 mail is tried again")
    assert page_of(mail, "retry") not in client.page(page_of(mail))
    response = client.post(page_of(mail, "retry"))
    assert str(ErrorCode.MAIL_NOT_QUARANTINED.text) in messages_of(response)[0]


def test_a_mail_in_quarantine_is_discarded_with_a_reason():
    mail, client = ReceivedMailFactory(quarantined=True), superuser()

    refused = client.submit(page_of(mail, "discard"), expected=200, reason="")
    client.submit(page_of(mail, "discard"), reason="An advertisement.")

    mail.refresh_from_db()
    assert list(errors_of(refused)) == ["reason"]
    assert (mail.outcome, mail.reason) == ("ignored", "An advertisement.")
    assert "An advertisement." in client.page(page_of(mail))


def test_many_mails_are_tried_again_or_discarded_with_one_reason():
    held = ReceivedMailFactory.create_batch(3, quarantined=True)
    stored = ReceivedMailFactory(stored=True)
    client = superuser()

    asked = client.act(RECEIVED, "discard_selected", *held[1:])
    client.act(RECEIVED, "discard_selected", *held[1:], apply="1", reason="Advertisements.")
    response = client.act(RECEIVED, "retry_selected", held[0], stored)

    assert "2 mails become no messages." in asked.content.decode()
    assert ReceivedMail.objects.filter(outcome="ignored", reason="Advertisements.").count() == 2
    assert [*ReceivedMail.objects.filter(outcome="received")] == held[:1]
    assert messages_of(response)[1] == f"{stored}: The mail is not in quarantine any more."
    assert messages_of(response)[2].startswith("1 mail is tried again")


# Messages on their way out


def test_messages_are_found_by_their_state_and_ticket():
    client, found = superuser(), {state: DispatchFactory(**{state: True}) for state in ("sent", "failed", "unknown")}
    found |= {"queued": DispatchFactory(), "bounced": DispatchFactory(sent=True, bounced_at=timezone.now())}
    together = {"sent": ["sent", "bounced"], "failed": ["failed", "unknown"]}

    for state in found:
        expected = [found[name] for name in together.get(state, [state])]
        assert shown(client.page(SENT, state=state), *found.values()) == expected
    for dispatch in found.values():
        page = client.page(SENT, q=f"#{dispatch.message.ticket_id}")
        assert shown(page, *found.values()) == [dispatch]


def test_a_failed_message_shows_its_error_and_is_sent_again():
    dispatch, client = DispatchFactory(failed=True), superuser()
    page = client.page(page_of(dispatch))

    response = client.submit(page_of(dispatch, "resend"))

    dispatch.refresh_from_db()
    assert "550 mailbox unavailable" in page
    assert dispatch.state == "queued"
    assert messages_of(response) == ["1 message is sent again."]


def test_the_page_warns_before_a_message_of_unknown_outcome_is_sent_again():
    dispatch = DispatchFactory(unknown=True)

    assert "the customer may get it twice" in superuser().page(page_of(dispatch, "resend"))


def test_a_sent_message_is_not_sent_again():
    sent, failed = DispatchFactory(sent=True), DispatchFactory(failed=True)
    client = superuser()

    response = client.act(SENT, "resend_selected", sent, failed)

    assert page_of(sent, "resend") not in client.page(page_of(sent))
    assert str(ErrorCode.NOT_RESENT.text) in messages_of(response)[0]
    assert set(Dispatch.objects.values_list("pk", "state")) == {(sent.pk, "sent"), (failed.pk, "queued")}


def test_ratings_are_found_by_their_value():
    good, bad = RatingFactory(value=5), RatingFactory(value=1)

    page = superuser().page(reverse("admin:tickets_rating_changelist"), value="1")

    assert shown(page, good, bad) == [bad]
    assert "★☆☆☆☆" in page


def test_files_are_found_by_ticket_and_token():
    attached, temporary = StoredFileFactory(attached=True), StoredFileFactory()
    path = reverse("admin:tickets_storedfile_changelist")
    client = superuser()

    assert shown(client.page(path, q=f"#{attached.message.ticket_id}"), attached, temporary) == [attached]
    assert shown(client.page(path, q=temporary.token), attached, temporary) == [temporary]
    assert shown(client.page(path, used="no"), attached, temporary) == [temporary]
