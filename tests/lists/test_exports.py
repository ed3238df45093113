"""Exports of lists: what the person would see on all pages of a list, as a file."""

import csv
import io
from contextlib import suppress
from typing import Any, cast

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.test import RequestFactory

from callcentre.core import deletions
from callcentre.core.audit import AuditEntry, AuditLog
from callcentre.core.deletions import Deletion
from callcentre.core.exporting.jobs import MOST_WAITING
from callcentre.lists import exports
from callcentre.lists.listed import list_of as listed_as
from callcentre.lists.models import ListExport, SavedView
from callcentre.models import User
from campaigns.admin import record_search
from campaigns.models import Record
from reports.exporting import build_next as build_next_report
from telephony.admin import connection_search
from telephony.models import Agent, Connection
from tests.admin_pages import factory_of, list_of, row_of_each_model
from tests.backoffice import BackOffice, messages_of, staff, superuser
from tests.callcentre.factories import UserFactory
from tests.campaigns.factories import RecordFactory
from tests.conftest import ACTOR
from tests.reports.exports import cells_of
from tests.reports.factories import ExportFactory
from tests.rights.people import client_of, person
from tests.telephony.factories import AgentFactory, AgentGroupFactory, ConnectionFactory, QueueFactory
from tests.tickets.deleting import left_of
from tests.tickets.factories import CustomerFactory, TicketFactory, TicketQueueFactory
from tickets.admin import customer_search, ticket_search
from tickets.models import Customer, Ticket

MARK = "Kowalczykowska"
ASKED, CALLED = {"surname": "22 555 01 07", "identifier": ""}, {"dst": "+48225550107"}
pytestmark = pytest.mark.usefixtures("committed_db", "plain_static")


def asked(client: BackOffice, model: type[Model], query: str = "", **values: Any) -> ListExport:
    """Press the button of the list, and return the export."""
    response = client.post(f"{list_of(model)}list-export/{query}", {"format": "csv", **values})
    assert response.status_code == 302, response.status_code
    return ListExport.objects.latest("id")


def built(export: ListExport) -> ListExport:
    assert exports.build_next()
    export.refresh_from_db()
    return export


def rows_of(export: ListExport) -> list[dict[str, str]]:
    assert export.state == "finished", export.message
    with export.file.open("rb") as file:
        return list(csv.DictReader(io.StringIO(file.read().decode("utf-8-sig"))))


def page_of_list(user: User, model: type[Model], query: str = "") -> Any:
    """Return what the page of the list shows to the person."""
    request: Any = RequestFactory().get(f"{list_of(model)}?{query}")
    request.user, request.session = user, {}
    return admin.site._registry[model].get_changelist_instance(request)


@pytest.mark.slow("exports every list")
def test_every_list_is_exported():
    rows, client = row_of_each_model(), superuser()
    for model in rows:
        asked(client, model)
        asked(client, model, format="xlsx")
        while exports.build_next():
            pass

    failed = [
        (each.list_name, each.message) for each in ListExport.objects.exclude(state="finished").exclude(actor_id=None)
    ]
    assert failed == []
    assert {each.list_name for each in ListExport.objects.all()} >= {
        model._meta.label_lower for model in admin.site._registry
    }
    for export in ListExport.objects.exclude(file="").filter(format="csv"):
        shown = rows_of(export)
        assert len(shown) == export.row_count > 0, export.list_name
        for cells in shown:
            assert not any(cell and ('class="' in cell or "<span" in cell) for cell in cells.values()), cells


def test_a_long_export_of_a_person_stops_no_other_persons():
    client = superuser()
    mine = [asked(client, Agent), asked(client, Agent)]
    # One of another kind takes no second place.
    report = ExportFactory(actor_kind="user", actor_id=mine[0].actor_id)
    other = asked(staff("view_agent", "add_listexport"), Agent)
    long = ListExport.objects.claim(mine[0].pk)
    assert long

    assert exports.build_next()
    assert not exports.build_next()
    assert not build_next_report()

    report.refresh_from_db()
    assert report.state == "queued"
    assert [ListExport.objects.get(pk=export.pk).state for export in (*mine, other)] == ["queued", "queued", "finished"]


@pytest.mark.slow("exports lists several times")
def test_at_most_two_exports_are_built_at_one_time_and_a_person_asks_for_no_more_than_can_wait():
    claims = [ListExport.objects.claim(asked(staff("view_agent", "add_listexport"), Agent).pk) for _place in range(2)]
    assert all(claims)
    client = superuser()
    for _number in range(MOST_WAITING):
        asked(client, Agent)

    assert not exports.build_next()
    refused = client.post(f"{list_of(Agent)}list-export/", {"format": "csv"})

    assert refused.headers["Location"] == list_of(Agent)
    assert messages_of(client.get(list_of(Agent))) == ["10 exports of yours wait already."]
    assert ListExport.objects.count() == MOST_WAITING + len(claims)
    assert asked(staff("view_agent", "add_listexport"), Agent).state == "queued"


def test_an_export_has_the_filters_the_search_and_the_rows_of_all_pages(monkeypatch):
    monkeypatch.setattr(exports, "PORTION", 7)
    AgentFactory.create_batch(60, is_active=True)
    AgentFactory(login="resting", is_active=False)

    active = built(asked(superuser(), Agent, "?is_active__exact=1"))
    found = built(asked(superuser(), Agent, "?q=resting"))

    assert (active.row_count, len(rows_of(active))) == (60, 60)
    assert [row["Login"] for row in rows_of(found)] == ["resting"]


@pytest.mark.trial
@pytest.mark.slow("exports every list in each order")
def test_each_order_of_each_list_is_that_of_its_export():
    """Actions put a column of boxes before the others, which orders count."""
    user, compared, boxes = UserFactory(admin=True), 0, 0
    for model in row_of_each_model():
        if model not in (AuditLog, Group):
            with suppress(IntegrityError), transaction.atomic():  # some tables have one row of a kind
                factory_of(model)()
        page = page_of_list(user, model)
        boxes += page.list_display[0] == "action_checkbox"
        for place, name in enumerate(page.list_display):
            if not page.get_ordering_field(name):
                continue
            for order in (str(place), f"-{place}"):
                shown = page_of_list(user, model, f"o={order}")
                listed = listed_as(admin.site._registry[model], user, f"o={order}")
                first = [row.pk for row in shown.result_list]
                assert [row.pk for row in listed.queryset[: len(first)]] == first, (model, name)
                assert str(listed.queryset.query.order_by) == str(shown.queryset.query.order_by), (model, name)
                compared += 1
    assert (compared > 300, boxes > 10) == (True, True)


def test_an_export_of_the_audit_log_names_whose_rights_changed():
    user = UserFactory(username="anna")
    user.groups.add(Group.objects.create(name="Night shift"))
    client = superuser()

    shown = client.page(list_of(AuditLog))
    export = built(asked(client, AuditLog))

    assert "Back-office user anna: user-group relationship" in shown
    assert "Back-office user anna: user-group relationship" in [row["Object"] for row in rows_of(export)]


def test_an_export_is_in_the_order_of_the_page_and_in_the_language_of_the_person():
    for login, name in (("b", "Eva"), ("a", "Zoe"), ("c", "Ada")):
        AgentFactory(login=login, name=name, is_active=True)
    client = superuser()

    shown = client.get(list_of(Agent), {"o": "1"}).context["cl"]
    export = built(asked(client, Agent, "?o=1"))
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "pl"
    polish = built(asked(client, Agent))

    assert [row["Login"] for row in rows_of(export)] == [agent.login for agent in shown.result_list] == ["a", "b", "c"]
    assert polish.language == "pl"
    assert "Tak" in rows_of(polish)[0].values()


def test_cells_say_what_people_see_and_are_no_formulas():
    ticket = TicketFactory(subject="=1+1", queue=TicketQueueFactory(name="Returns"))
    AgentFactory(login="eva", name="=HYPERLINK(1)", surname="")
    client = superuser()

    [row] = rows_of(built(asked(client, Ticket)))
    cells = [cell for row in cells_of(cast("Any", built(asked(client, Agent, format="xlsx")))) for cell in row]

    assert row["Number"] == f"#{ticket.pk}"
    assert "=1+1" in row["Subject and customer"]
    assert row["Agent and queue"].endswith("Returns")
    assert "'=HYPERLINK(1)" in cells
    assert "Yes" in cells


def test_an_export_has_the_scope_of_the_person():
    seen, other = TicketQueueFactory(), TicketQueueFactory()
    ticket = TicketFactory(queue=seen)
    TicketFactory(queue=other)
    client = staff("view_ticket", "add_listexport")
    User.objects.update(scope_ticket_queues=[seen.pk])

    export = built(asked(client, Ticket))

    assert [row["Number"] for row in rows_of(export)] == [f"#{ticket.pk}"]


@pytest.mark.parametrize("lacking", ["view_agent", "add_listexport"])
def test_exporting_needs_the_right_to_the_list_and_the_right_to_export(lacking):
    client = staff(*{"view_agent", "add_listexport"} - {lacking})
    AgentFactory()

    assert client.post(f"{list_of(Agent)}list-export/", {"format": "csv"}).status_code == 403
    assert not ListExport.objects.exists()
    # The button is shown to people who may export.
    assert lacking == "view_agent" or "list-export/" not in client.page(list_of(Agent))
    assert "list-export/" in superuser().page(list_of(Agent))


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_staff": False}, {"user_permissions": []}])
def test_a_person_who_lost_the_right_meanwhile_gets_no_file(change):
    AgentFactory()
    export = asked(staff("view_agent", "add_listexport"), Agent)
    user = User.objects.get(pk=export.actor_id or 0)
    if "user_permissions" in change:
        user.user_permissions.clear()
    else:
        User.objects.filter(pk=user.pk).update(**change)

    built(export)

    assert (export.state, export.file.name) == ("failed", "")
    assert export.message


def test_people_see_their_own_exports_and_download_no_others():
    AgentFactory()
    own = staff("view_agent", "add_listexport")
    export = built(asked(own, Agent))
    other = staff("view_agent", "add_listexport")
    overseer, auditor = staff("view_listexport", "see_all_list_jobs"), client_of(person("Auditor"))
    page, file = f"{list_of(ListExport)}{export.pk}/change/", f"{list_of(ListExport)}{export.pk}/download/"

    assert [client.get(page).status_code for client in (own, overseer, auditor)] == [200, 200, 200]
    assert [client.get(file).status_code for client in (own, other, overseer, auditor)] == [200, 404, 403, 403]
    assert export.file_name in own.page(list_of(ListExport))
    assert export.file_name not in other.page(list_of(ListExport))


@pytest.mark.parametrize(
    ("model", "search", "make"),
    [
        (Record, record_search, lambda: RecordFactory(phone_number="+48225550107")),
        (Customer, customer_search, lambda: CustomerFactory(**ASKED)),
        (Ticket, ticket_search, lambda: TicketFactory(subject="call 22 555 01 07 back")),
        (Connection, connection_search, lambda: ConnectionFactory(**CALLED)),
    ],
)
def test_pages_and_files_say_that_a_search_stopped_before_it_found_all(model, search, make, monkeypatch):
    make()
    make()
    client, query, said = superuser(), "?q=22+555+01+07", "The search stopped at its first"
    assert said not in client.page(f"{list_of(model)}{query}")

    monkeypatch.setattr(search, "MAX_FOUND", 1)
    export = built(asked(client, model, query))

    assert len(rows_of(export)) == 1
    assert f"{said} 1 rows" in client.page(f"{list_of(model)}{query}")
    assert f"{said} 1 rows" in client.page(f"{list_of(ListExport)}{export.pk}/change/")


@pytest.mark.parametrize(
    ("model", "search", "column", "make"),
    [
        (Record, record_search, "scope_outbounds", lambda: RecordFactory(phone_number="+48225550107")),
        (Ticket, ticket_search, "scope_ticket_queues", lambda: TicketFactory(subject="call 22 555 01 07 back")),
        (Ticket, ticket_search, "scope_ticket_queues", lambda: TicketFactory(customer=CustomerFactory(**ASKED))),
        (Connection, connection_search, "scope_call_queues", lambda: ConnectionFactory(**CALLED, queue=QueueFactory())),
    ],
)
def test_a_search_finds_a_row_of_the_scope_among_many_others(model, search, column, make, monkeypatch):
    """Rows outside the scope do not count for the most rows that a search finds, older or newer."""
    monkeypatch.setattr(search, "MAX_FOUND", 2)
    rows = [make() for _number in range(5)]
    client = staff(f"view_{model._meta.model_name}")
    user = User.objects.filter(pk=client.session["_auth_user_id"])
    for row in rows:
        user.update(**{column: [row.campaign_id if model is Record else row.queue_id]})
        page = client.page(f"{list_of(model)}?q=22+555+01+07")
        assert [other.pk for other in rows if f"{list_of(model)}{other.pk}/change/" in page] == [row.pk]
        assert "The search stopped" not in page


@pytest.mark.parametrize("is_narrow", [True, False])
def test_an_export_with_rows_outside_the_present_scope_is_missing(is_narrow):
    """The scope that counts is the one within which the worker read the list, not that of the question."""
    inside, outside = AgentFactory(group=AgentGroupFactory()), AgentFactory(group=AgentGroupFactory())
    client = staff("view_agent", "add_listexport")
    user = User.objects.filter(pk=client.session["_auth_user_id"])
    export = asked(client, Agent)
    if is_narrow:
        user.update(scope_agent_groups=[inside.group_id])
    export = built(export)
    user.update(scope_agent_groups=[inside.group_id])
    page, file = f"{list_of(ListExport)}{export.pk}/change/", f"{list_of(ListExport)}{export.pk}/download/"

    statuses = (client.get(page).status_code, client.get(file).status_code)

    assert statuses == ((200, 200) if is_narrow else (404, 404))
    assert (export.file_name in client.page(list_of(ListExport))) == is_narrow
    assert (outside.login in str(rows_of(export))) != is_narrow


@pytest.mark.parametrize(
    ("query", "logged"), [("?q=Kowalska&o=1", "o=1&q=•••"), ("?q=Kowalska", "q=•••"), ("?o=1", "o=1")]
)
def test_an_export_is_in_the_audit_log_without_words_of_searches(query, logged):
    export = asked(superuser(), Customer, query)

    entry = AuditEntry.objects.get(action="export")
    assert (entry.actor_id, entry.object_id) == (export.actor_id, str(export.pk))
    assert (entry.changes["list"], entry.changes["query"]) == ([None, "tickets.customer"], [None, logged])


def test_an_address_that_makes_no_sense_any_more_is_a_failed_export():
    client = superuser()
    export = asked(client, Agent, "?password__startswith=x")

    assert built(export).state == "failed"


def test_deletion_of_a_person_leaves_nothing_of_them_in_files_and_searches(own_storage):
    customer, client = CustomerFactory(surname=MARK), superuser()
    export = built(asked(client, Customer, f"?q={MARK}"))
    SavedView.objects.create(user=User.objects.get(), list_name="tickets.customer", name=MARK, query=f"q={MARK}")
    begun = asked(client, Customer)
    ListExport.objects.filter(pk=begun.pk).update(state="running", attempt_count=1)
    assert MARK in str(rows_of(export))

    deletion = Deletion.ask(ACTOR, "customer", customer, "on request")
    deletions.run(deletion.pk)

    deletion.refresh_from_db()
    begun.refresh_from_db()
    assert (deletion.state, begun.state) == ("finished", "queued")
    assert left_of(MARK) == {}
    assert [path for path in own_storage.rglob("*") if path.is_file()] == []
