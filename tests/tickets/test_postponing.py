"""Postponed tickets: the time until which they rest, and their return."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from callcentre.core.errors import Invalid
from callcentre.core.times import minute
from tests.backoffice import superuser
from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import RuleFactory, TicketFactory
from tests.tickets.test_ticket_page_actions import edit as edit_on_page
from tickets.models import Ticket, TicketChange, TicketStatus
from tickets.tasks import bring_back
from tickets.verbs import postponing, ticket_row
from tickets.verbs.automation import run_due, try_actions
from tickets.verbs.messages import receive_message
from tickets.verbs.tickets import edit_ticket
from webhooks.models import Event

pytestmark = pytest.mark.django_db
KIND = TicketStatus.Kind


def in_days(days: float) -> Any:
    return (timezone.now() + timedelta(days=days)).replace(second=0, microsecond=0)


def status(kind: str) -> TicketStatus:
    return TicketStatus.objects.filter(kind=kind)[0]


def postponed(**values: Any) -> Ticket:
    ticket = TicketFactory(**values)
    edit_ticket(ticket, ACTOR, postponed_until=in_days(2))
    ticket.refresh_from_db()
    return ticket


def test_a_time_postpones_the_ticket_and_the_history_says_so() -> None:
    until, ticket = in_days(2), postponed()

    assert (ticket.status.kind, ticket.postponed_until) == (KIND.POSTPONED, until)
    changes = TicketChange.objects.get(ticket=ticket).changes
    assert changes == {"postponed_until": [None, minute(until)], "status": ["New", "Postponed"]}


@pytest.mark.parametrize(
    ("days", "kind", "code"),
    [(-1, None, 150028), (1, KIND.CLOSED, 150030), (1, KIND.NEW, 150030)],
    ids=["past", "and closed", "and new"],
)
def test_a_time_in_the_past_or_with_another_status_is_refused(days: float, kind: str | None, code: int) -> None:
    ticket = TicketFactory()
    other: dict[str, Any] = {"status_id": status(kind).pk} if kind else {}

    with pytest.raises(Invalid) as refused:
        edit_ticket(ticket, ACTOR, postponed_until=in_days(days), **other)

    assert [(fault.code.number, fault.field) for fault in refused.value.faults] == [(code, "postponed_until")]
    assert Ticket.objects.get().status.kind == KIND.NEW


@pytest.mark.parametrize(("agent", "kind"), [(True, KIND.IN_PROGRESS), (False, KIND.NEW)])
def test_it_comes_back_once_when_its_time_has_come(agent: bool, kind: str) -> None:
    RuleFactory(
        events=["changed"], conditions=[{"name": "status", "operator": "became", "values": [str(status(kind).pk)]}]
    )
    ticket, early = postponed(agent=AgentFactory() if agent else None), TicketFactory()
    edit_ticket(early, ACTOR, postponed_until=in_days(4))

    with time_machine.travel(in_days(3), tick=False):
        bring_back()
        bring_back()

    until = ticket.postponed_until
    ticket.refresh_from_db()
    assert (ticket.status.kind, ticket.postponed_until, ticket.tags) == (kind, until, ["ruled"])
    assert TicketChange.objects.filter(ticket=ticket, action="wake").count() == 1
    _postponed, said = ticket.messages.values_list("system_comment", flat=True)
    assert said == f"Changed status from [Postponed] to [{ticket.status.name}]"
    assert Event.objects.filter(action="TICKET_UPDATED").count() == 4
    early.refresh_from_db()
    assert early.status.kind == KIND.POSTPONED


def test_a_ticket_that_came_back_rests_without_an_end_when_only_its_status_is_set() -> None:
    ticket = postponed()
    with time_machine.travel(in_days(3), tick=False):
        bring_back()
        edit_ticket(ticket, ACTOR, status_id=status(KIND.POSTPONED).pk)
        bring_back()

    ticket.refresh_from_db()
    assert (ticket.status.kind, ticket.postponed_until) == (KIND.POSTPONED, None)


def test_a_ticket_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = postponed(), postponed()
    real = ticket_row.lock_ticket

    def fail(ticket: Ticket) -> Ticket:
        if ticket.pk == first.pk:
            raise ValueError
        return real(ticket)

    monkeypatch.setattr(postponing, "lock_ticket", fail)
    with time_machine.travel(in_days(3), tick=False):
        bring_back()

    second.refresh_from_db()
    assert second.status.kind == KIND.NEW


def test_a_message_of_the_customer_ends_it() -> None:
    ticket = postponed()

    receive_message(ticket, SYSTEM, body="x", body_type="PLAIN")

    ticket.refresh_from_db()
    assert (ticket.status.kind, ticket.postponed_until) == (KIND.NEW, None)


def test_rules_count_from_its_return_and_from_waiting_for_the_customer() -> None:
    since = timezone.now() - timedelta(days=9)
    back = RuleFactory(timed=True, anchor="postponed_until", since=since)
    waiting = RuleFactory(timed=True, anchor="waiting_since", since=since)
    ticket, asked, answered = postponed(), TicketFactory(), TicketFactory()
    edit_ticket(asked, ACTOR, status_id=status(KIND.WAITING_FOR_CUSTOMER).pk)
    edit_ticket(answered, ACTOR, status_id=status(KIND.WAITING_FOR_CUSTOMER).pk)
    receive_message(answered, SYSTEM, body="x", body_type="PLAIN")

    for days in (1, 3):
        with time_machine.travel(in_days(days), tick=False):
            bring_back()
            for rule in (back, waiting):
                run_due(rule)

    ran = TicketChange.objects.filter(action="rule").order_by("ticket_id", "pk")
    assert [(change.ticket_id, change.changes["rule"][1]) for change in ran] == [
        (ticket.pk, back.name),
        (asked.pk, waiting.name),
    ]


def test_an_action_postpones() -> None:
    tried = try_actions(TicketFactory(), "x", {"postpone": "24"})

    assert set(tried.changes[0].changes) == {"postponed_until", "status"}
    assert tried.trouble == ""


def test_programs_postpone_and_read_the_time(api: ApiClient) -> None:
    ticket, until = TicketFactory(), minute(in_days(1))

    response = api.put(f"/api/tickets/{ticket.pk}", {"postponed_until": until})

    assert response.status_code == 204
    assert api.get(f"/api/tickets/{ticket.pk}").json()["postponed_until"] == until
    assert api.put(f"/api/tickets/{ticket.pk}", {"postponed_until": ""}).status_code == 204
    ticket.refresh_from_db()
    assert (ticket.status.kind, ticket.postponed_until) == (KIND.POSTPONED, None)


@pytest.mark.usefixtures("plain_static")
def test_the_page_postpones_and_shows_the_time() -> None:
    ticket, until, client = TicketFactory(), in_days(1), superuser()

    edit_on_page(client, ticket, postponed_until=f"{timezone.localtime(until):%Y-%m-%dT%H:%M}")
    ticket.refresh_from_db()
    assert (ticket.status.kind, ticket.postponed_until) == (KIND.POSTPONED, until)

    edit_on_page(client, ticket, subject="Other")
    ticket.refresh_from_db()
    assert (ticket.subject, ticket.postponed_until) == ("Other", until)
