"""Texts that PostgreSQL cannot store, in every form of the admin: a sentence or the page of a refusal, never a 500."""

from typing import Any

import pytest
from django.db import transaction
from django.test.client import BOUNDARY, encode_multipart
from django.urls import reverse

from callcentre.lists.models import SavedView
from tests.admin_pages import addresses, kept_rows, list_of, routes
from tests.backoffice import BackOffice, errors_of, inputs_of, superuser
from tests.tickets.factories import MessageFactory
from tickets.models import Ticket, TicketQueue

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static"), pytest.mark.slow("sends every form")]

REFUSED = "A text has a character that cannot be saved."
VIEWS = f"{list_of(Ticket)}list-views/"


@pytest.fixture(scope="module")
def rows(django_db_setup, django_db_blocker):
    with kept_rows(django_db_blocker) as found:
        yield found


@pytest.fixture
def client(rows):
    client = superuser()
    client.raise_request_exception = False
    return client


def status(client: BackOffice, address: str, values: dict[str, Any]) -> int:
    """Send a form and undo what it did."""
    undone = transaction.atomic()
    undone._from_testcase = True  # type: ignore[attr-defined]  # as Django marks those of its tests
    with undone:
        answer = client.post(address, values).status_code
        transaction.set_rollback(True)
    return answer


@pytest.mark.walk("webhooks")
@pytest.mark.parametrize("app", sorted({route.partition("/")[0] for route in routes()}))
def test_no_form_fails_with_nul_in_its_texts(app, rows, client):
    """In all texts of the page at once; and in each alone, on pages that are not Django's."""
    failed = []
    for route in [route for route in routes() if route.partition("/")[0] == app]:
        (address,) = addresses(rows, of=[route])
        with transaction.atomic():
            page = client.get(address)
            transaction.set_rollback(True)
        if page.status_code != 200 or page.streaming or not page["Content-Type"].startswith("text/html"):
            continue
        inputs = inputs_of(page.content.decode())
        texts = {name: f"{value}\0" for name, value in inputs.items() if isinstance(value, str)}
        forms = [inputs | texts]
        if not route.endswith(("/add/", "/change/")):
            forms += [inputs | {name: text} for name, text in texts.items()]
        failed += [(address, form) for form in forms if status(client, address, form) >= 500]

    assert failed == []


@pytest.mark.parametrize(("page", "values"), [("list_views", {"name": "a\0b"}), ("split", {"subject": "a\0b"})])
def test_a_text_that_a_page_reads_itself_is_refused_and_nothing_is_saved(page, values, client, rows):
    ticket = rows[Ticket]
    if page == "split":
        values = {**values, "messages": str(MessageFactory(ticket=ticket).pk)}
    address = VIEWS if page == "list_views" else reverse("admin:tickets_ticket_split", args=[ticket.pk])
    before = SavedView.objects.count(), Ticket.objects.count()

    answer = client.post(address, values)

    assert (answer.status_code, REFUSED in answer.content.decode()) == (400, True)
    assert (SavedView.objects.count(), Ticket.objects.count()) == before


def test_half_a_surrogate_pair_is_refused_too(client):
    """Django decodes a form of several parts by the charset that the client names."""
    body = encode_multipart(BOUNDARY, {"name": "Lamps +2AA-"})

    answer = client.generic("POST", VIEWS, body, f"multipart/form-data; boundary={BOUNDARY}; charset=utf-7")

    assert (answer.status_code, SavedView.objects.filter(name__startswith="Lamps").exists()) == (400, False)


def test_a_field_of_a_form_names_nul_itself(client):
    answer = client.post(f"{list_of(TicketQueue)}add/", {"name": "a\0b"})

    assert (answer.status_code, errors_of(answer)["name"]) == (200, ["Null characters are not allowed."])
