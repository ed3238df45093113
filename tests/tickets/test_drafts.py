"""Drafts of the page of a ticket, which its writer finds in any browser."""

import json
import re
from typing import Any

import pytest
from django.urls import reverse

from callcentre.core import deletions
from tests.backoffice import page_of, staff, superuser
from tests.conftest import ACTOR
from tests.tickets.factories import TicketDraftFactory, TicketFactory
from tests.tickets.test_ticket_page_sending import filled
from tickets.models import Ticket, TicketDraft
from tickets.verbs.merges import merge_tickets

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def keep(client: Any, ticket: Ticket, **values: Any) -> int:
    data = {"text": "<p>Dear</p>", "kind": "reply", "html": "1", **values}
    return int(client.post(reverse("admin:tickets_ticket_draft", args=[ticket.pk]), data).status_code)


def shown(client: Any, ticket: Ticket) -> Any:
    found = re.search(r'<script id="draft" type="application/json">(.*?)</script>', client.page(page_of(ticket)))
    assert found
    return json.loads(found[1])


def test_a_draft_is_its_writers_alone_until_it_is_sent() -> None:
    ticket, client, other = TicketFactory(), superuser(), superuser()

    assert [keep(client, ticket, text=text) for text in ("<p>D", "<p>Dear</p>")] == [200, 200]
    draft = TicketDraft.objects.get()
    expected = {"text": "<p>Dear</p>", "kind": "reply", "html": True, "at": draft.updated_at.isoformat()}
    assert shown(client, ticket) == expected
    assert shown(other, ticket) is None

    client.post(page_of(ticket), filled(client, ticket, kind="comment", body="Dear"))
    assert not TicketDraft.objects.exists()


def test_an_empty_text_forgets_it_and_a_wrong_one_is_refused() -> None:
    ticket, client = TicketFactory(), superuser()

    wrong: list[dict[str, Any]] = [{}, {"kind": "x"}, {"text": "x" * 2_000_001}]

    assert [keep(client, ticket, **values) for values in wrong] == [200, 400, 400]
    assert shown(client, ticket)["text"] == "<p>Dear</p>"
    assert keep(client, ticket, text="") == 204
    assert shown(client, ticket) is None


def test_only_who_may_write_in_the_ticket_keeps_a_draft() -> None:
    assert keep(staff("view_ticket"), TicketFactory()) == 403


def test_a_draft_goes_on_in_the_ticket_into_which_its_ticket_is_merged() -> None:
    draft, target = TicketDraftFactory(), TicketFactory()
    both = TicketDraftFactory(ticket=draft.ticket), TicketDraftFactory(ticket=target, text="mine")
    TicketDraft.objects.filter(pk=both[0].pk).update(user=both[1].user)

    merge_tickets(draft.ticket, target, ACTOR)

    assert set(target.drafts.values_list("text", flat=True)) == {"<p>Dear</p>", "mine"}
    assert draft.ticket.drafts.count() == 1


def test_a_ticket_is_deleted_with_its_drafts() -> None:
    draft = TicketDraftFactory()

    deletions.run(deletions.Deletion.ask(ACTOR, "ticket", draft.ticket, "on request").pk)

    assert not TicketDraft.objects.exists()
