"""Texts that an HTML editor shows in its page: whatever saves them, nothing in them runs there."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat

from callcentre.core.errors import Invalid
from callcentre.core.html_field import CleanHtmlField
from tests.backoffice import errors_of, page_of, superuser
from tests.tickets.factories import CannedReplyFactory, TicketFactory, TicketQueueFactory
from tests.tickets.test_html import _ATTRIBUTE, _KNOWN, _TAG, HOSTILE, nested
from tickets.mail.composition import body_html
from tickets.models import CannedReply, Message

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

BAD = "<p>Hello<img src=x onerror=alert(1)><script>alert(1)</script></p>"
GOOD = "<p>Hello<img></p>"
STYLED = '<p style="color: #c00; font-family: Arial, sans-serif">Dear {{ customer_name }},</p>'
# Their verbs clean these themselves (tests/knowledgebase/test_models.py).
BY_VERBS = {("knowledgebase.Article", "content")}


def saved(row: Any, column: str) -> Any:
    return type(row).objects.filter(pk=row.pk).values_list(column, flat=True).get()


def test_every_field_that_an_editor_shows_is_cleaned_when_it_is_saved() -> None:
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
def test_a_canned_reply_is_cleaned_however_it_is_saved(way: str) -> None:
    WAYS[way](CannedReplyFactory.create())

    assert CannedReply.objects.latest("id").body == GOOD


def test_the_texts_of_a_queue_are_cleaned() -> None:
    queue = TicketQueueFactory.create()

    superuser().submit(page_of(queue), language="en", signature=BAD, acknowledgement=BAD)

    assert (saved(queue, "signature"), saved(queue, "acknowledgement")) == (GOOD, GOOD)


@pytest.mark.parametrize("markup", HOSTILE)
def test_an_editor_runs_nothing_hostile(markup: str) -> None:
    canned = CannedReply.objects.create(name="x", body=f"<p>text</p>{markup}")

    text = saved(canned, "body")
    assert text.count("<") == len(_TAG.findall(text))
    names = {name for tag in _TAG.findall(text) for name, _value in _ATTRIBUTE.findall(tag[2])}
    assert names <= _KNOWN | {"style"}


def test_a_signature_keeps_its_colours_and_its_places() -> None:
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
def test_a_style_that_loads_or_moves_something_is_taken_out(style: str) -> None:
    canned = CannedReply.objects.create(name="x", body=f'<p style="{style}; color: red">x</p>')

    assert saved(canned, "body") == '<p style="color: red">x</p>'


@pytest.mark.slow("cleans costly HTML")
def test_a_text_that_cannot_be_made_safe_is_refused_and_the_old_one_stays() -> None:
    canned = CannedReplyFactory.create(body="<p>before</p>")

    response = superuser().submit(page_of(canned), expected=200, body=nested(100_000))

    assert "cannot be made safe" in str(errors_of(response)["body"])
    with pytest.raises(Invalid), transaction.atomic():
        CannedReply.objects.update(body=nested(100_000))
    assert saved(canned, "body") == "<p>before</p>"


def test_an_expression_is_left_to_the_database() -> None:
    canned = CannedReplyFactory.create(body="<p>a</p>")

    CannedReply.objects.update(body=Concat(F("body"), Value("<p>b</p>")))

    assert saved(canned, "body") == "<p>a</p><p>b</p>"
