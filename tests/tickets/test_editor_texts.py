"""Texts that an HTML editor shows in its page, where nothing in them runs, and the places in texts of replies."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.urls import reverse

from callcentre.core.errors import Invalid
from callcentre.core.html_field import CleanHtmlField
from tests.backoffice import errors_of, page_of, staff, superuser
from tests.tickets.factories import CannedReplyFactory, CustomerFactory, TicketFactory, TicketQueueFactory
from tests.tickets.test_html import _ATTRIBUTE, _KNOWN, _TAG, HOSTILE, nested
from tickets.mail.composition import body_html
from tickets.models import CannedReply, Message
from tickets.placeholders import PLACEHOLDERS, fill, has_placeholder

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

BAD = "<p>Hello<img src=x onerror=alert(1)><script>alert(1)</script></p>"
GOOD = "<p>Hello<img></p>"
STYLED = '<p style="color: #c00; font-family: Arial, sans-serif">Dear {{ customer_name }},</p>'
# Their verbs clean these themselves (tests/knowledgebase/test_models.py).
BY_VERBS = {("knowledgebase.Article", "content")}


def saved(row: Any, column: str) -> Any:
    return type(row).objects.filter(pk=row.pk).values_list(column, flat=True).get()


def test_every_field_that_an_editor_shows_is_cleaned_when_it_is_saved():
    edited = {
        (model._meta.label, name)
        for model, model_admin in site._registry.items()
        for name, field in model_admin.form.base_fields.items()
        if "data-editor" in field.widget.attrs
    }

    columns = {(label, name): apps.get_model(label)._meta.get_field(name) for label, name in edited - BY_VERBS}
    assert edited >= {("tickets.CannedReply", "body"), ("tickets.TicketQueue", "signature"), *BY_VERBS}
    assert {place for place, column in columns.items() if not isinstance(column, CleanHtmlField)} == set()


def _save(canned: CannedReply) -> None:
    canned.body = BAD
    canned.save(update_fields=["body"])
    assert canned.body == GOOD


def _bulk_update(canned: CannedReply) -> None:
    canned.body = BAD
    CannedReply.objects.bulk_update([canned], ["body"])


WAYS: dict[str, Callable[[CannedReply], Any]] = {
    "create": lambda canned: CannedReply.objects.create(name="x", body=BAD),
    "save": _save,
    "update": lambda canned: CannedReply.objects.update(body=BAD),
    "bulk create": lambda canned: CannedReply.objects.bulk_create([CannedReply(name="x", body=BAD)]),
    "bulk update": _bulk_update,
    "submit": lambda canned: superuser().submit(page_of(canned), body=BAD),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_canned_reply_is_cleaned_however_it_is_saved(way):
    WAYS[way](CannedReplyFactory.create())

    assert CannedReply.objects.latest("id").body == GOOD


def test_the_texts_of_a_queue_are_cleaned():
    queue = TicketQueueFactory.create()

    superuser().submit(page_of(queue), language="en", signature=BAD, acknowledgement=BAD)

    assert (saved(queue, "signature"), saved(queue, "acknowledgement")) == (GOOD, GOOD)


@pytest.mark.parametrize("markup", HOSTILE)
def test_an_editor_runs_nothing_hostile(markup):
    canned = CannedReply.objects.create(name="x", body=f"<p>text</p>{markup}")

    text = saved(canned, "body")
    assert text.count("<") == len(_TAG.findall(text))
    names = {name for tag in _TAG.findall(text) for name, _value in _ATTRIBUTE.findall(tag[2])}
    assert names <= _KNOWN | {"style"}


def test_a_signature_keeps_its_colours_and_its_places():
    queue = TicketQueueFactory.create(signature=STYLED)

    assert saved(queue, "signature") == STYLED
    queue.refresh_from_db()
    message = Message(ticket=TicketFactory.create(queue=queue, sender_name="Jan"), body="<p>Text</p>", body_type="HTML")
    assert '<p style="color: #c00; font-family: Arial, sans-serif">Dear' in body_html(message)


@pytest.mark.parametrize(
    "style",
    [
        "position: fixed; inset: 0",
        "background: url(https://evil.example/pixel.gif)",
        "background-color: url(https://evil.example/pixel.gif)",
        "width: expression(alert(1))",
        "margin-top: -999px",
        "color: \\75rl(x)",
        "behavior: url(x)",
        "color: var(--x)",
    ],
)
def test_a_style_that_loads_or_moves_something_is_taken_out(style):
    canned = CannedReply.objects.create(name="x", body=f'<p style="{style}; color: red">x</p>')

    assert saved(canned, "body") == '<p style="color: red">x</p>'


@pytest.mark.trial
@pytest.mark.slow("cleans costly HTML")
def test_a_text_that_cannot_be_made_safe_is_refused_and_the_old_one_stays():
    canned = CannedReplyFactory.create(body="<p>before</p>")

    response = superuser().submit(page_of(canned), expected=200, body=nested(100_000))

    assert "cannot be made safe" in str(errors_of(response)["body"])
    with pytest.raises(Invalid), transaction.atomic():
        CannedReply.objects.update(body=nested(100_000))
    assert saved(canned, "body") == "<p>before</p>"


def test_an_expression_is_left_to_the_database():
    canned = CannedReplyFactory.create(body="<p>a</p>")

    CannedReply.objects.update(body=Concat(F("body"), Value("<p>b</p>")))

    assert saved(canned, "body") == "<p>a</p><p>b</p>"


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
