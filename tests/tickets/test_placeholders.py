"""The places in texts of replies: filled where they are known, refused when they are saved where they are not."""

import pytest
from django.urls import reverse

from tests.backoffice import errors_of, page_of, staff, superuser
from tests.tickets.factories import CannedReplyFactory, CustomerFactory, TicketFactory, TicketQueueFactory
from tickets.placeholders import PLACEHOLDERS, fill, has_placeholder

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


@pytest.mark.parametrize("markup", ["{{name}}", "{{ name }}", "{{\n name}}", "{{&nbsp;name&nbsp;}}", "{{\u00a0name }}"])
def test_a_placeholder_is_filled_in_every_spelling(markup):
    assert fill(f"<p>{markup}</p>", {"name": "Jan"}) == "<p>Jan</p>"
    assert has_placeholder(markup, "name")


@pytest.mark.parametrize("markup", ["{{ nonsense }}", "{{ Customer name }}", "{{ticket.id}}", "{{}}", "{{ body }}"])
def test_a_canned_reply_with_an_unknown_placeholder_is_refused_with_the_known_ones(markup):
    canned = CannedReplyFactory(body="<p>Thanks</p>")

    response = superuser().submit(page_of(canned), expected=200, body=f"<p>Dear {markup}</p>")

    errors = errors_of(response)
    assert list(errors) == ["body"]
    assert all(f"{{{{ {name} }}}}" in str(errors["body"]) for name in PLACEHOLDERS)
    canned.refresh_from_db()
    assert canned.body == "<p>Thanks</p>"


def test_each_text_of_a_queue_has_its_own_error():
    queue, client = TicketQueueFactory(), superuser()

    def errors(**texts):
        return errors_of(client.submit(page_of(queue), expected=200, language="en", **texts))

    found = errors(signature="{{ agent }}", acknowledgement="{{ customer }}", template="{{ body }} {{ footer }}")
    assert set(found) == {"signature", "acknowledgement", "template"}
    assert "{{ signature }}" in str(found["template"])
    assert "{{ body }}" not in str(found["signature"])
    # The word "body" is no place for it.
    assert list(errors(template="<body>Hello</body>")) == ["template"]


def test_a_text_with_known_placeholders_is_saved():
    queue, canned = TicketQueueFactory(), CannedReplyFactory()
    everything = " ".join(f"{{{{ {name} }}}}" for name in PLACEHOLDERS)

    client = superuser()
    template = f"{everything} {{{{ body }}}} {{{{ signature }}}} {{ no place }}"
    texts = {"signature": everything, "acknowledgement": everything, "template": template}
    client.submit(page_of(queue), language="en", **texts)
    client.submit(page_of(canned), body=everything)
    page = client.page(reverse("admin:tickets_cannedreply_add"))
    assert all(f"{{{{ {name} }}}}" in page for name in PLACEHOLDERS)

    queue.refresh_from_db()
    canned.refresh_from_db()
    assert (queue.signature, canned.body) == (everything, everything)


PREVIEW = reverse("admin:tickets_cannedreply_preview")


def test_a_preview_has_the_facts_of_the_newest_ticket_of_the_queue():
    queue = TicketQueueFactory()
    ticket = TicketFactory(queue=queue, customer=CustomerFactory(name="Jan", surname="<b>Kowal</b>"))
    TicketFactory()

    answer = superuser().post(PREVIEW, {"queue": queue.pk, "body": "<p>Dear {{ customer_name }}</p><script>x</script>"})

    shown = answer.json()
    assert shown["source"] == f"With the facts of ticket #{ticket.pk}"
    assert "<p>Dear Jan &lt;b&gt;Kowal&lt;/b&gt;</p>" in shown["document"]
    assert "script" not in shown["document"]


@pytest.mark.parametrize("body", ["{{ nonsense }}", "<p>Thanks</p>"])
def test_a_preview_that_cannot_be_shown_says_why(body):
    answer = superuser().post(PREVIEW, {"queue": "", "body": body}).json()

    assert answer["trouble"]
    assert "document" not in answer


@pytest.mark.parametrize("permissions", [(), ("view_ticket",), ("view_cannedreply",)])
def test_a_preview_needs_the_rights_to_see_replies_and_tickets(permissions):
    assert staff(*permissions).post(PREVIEW, {"queue": "", "body": "x"}).status_code == 403
