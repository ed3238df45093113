"""Actions on all rows of a list that match, as a worker does them."""

from typing import Any, cast

import pytest
from django.contrib import admin
from django.db import connection, transaction
from django.db.models import Model
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext

from callcentre.core.audit import AuditEntry
from callcentre.lists import actions
from callcentre.lists.forgetting import forget
from callcentre.lists.models import ListAction
from callcentre.models import User
from campaigns.admin import record_search
from campaigns.models import Record
from telephony.models import Agent
from tests.admin_pages import list_of, row_of_each_model
from tests.backoffice import BackOffice, messages_of, staff, superuser
from tests.campaigns.factories import DictionaryStatusFactory, RecordFactory
from tests.rights.people import client_of, person
from tests.telephony.factories import AgentFactory, AgentGroupFactory, PauseFactory
from tests.tickets.factories import MacroFactory, TicketFactory, TicketQueueFactory, TicketStatusFactory
from tickets.models import Ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def choose(client: BackOffice, model: type[Model], action: str, query: str = "", **values: Any) -> HttpResponse:
    """Choose an action for all rows that match; with `values`, send its page."""
    row = model._default_manager.order_by("pk").first()
    assert row
    sent = {"apply": "1", **values} if values else {}
    response: HttpResponse = client.act(f"{list_of(model)}{query}", action, row, select_across="1", **sent)
    return response


def asked(client: BackOffice, model: type[Model], action: str, query: str = "", **values: Any) -> ListAction:
    response = choose(client, model, action, query, **{"apply": "1", **values})
    assert response.status_code == 302, response.content.decode()
    return ListAction.objects.latest("id")


def done(job: ListAction) -> ListAction:
    for _turn in range(50):
        actions.run(job.pk)
    job.refresh_from_db()
    return job


def do_portion(job: ListAction) -> None:
    """Do one portion, and release the action."""
    claim = ListAction.objects.defer("ids").claim(job.pk)
    assert claim
    with claim:
        assert actions._do_portion(claim, actions._Ids(job.pk))
        claim.put_off()


def counts_of(job: ListAction) -> tuple[str, int | None, int, int, int]:
    return job.state, job.total_count, job.done_count, job.refused_count, job.skipped_count


def changed_and_unchanged(job: ListAction) -> tuple[int | None, int, int]:
    assert (job.state, job.refusals) == ("finished", {}), job.message
    return job.total_count, job.done_count, job.unchanged_count


@pytest.mark.slow("opens many pages")
def test_an_action_is_applied_to_all_rows_that_match(monkeypatch):
    monkeypatch.setattr(actions, "PORTION", 7)
    queue, target, other = TicketQueueFactory(), TicketQueueFactory(), TicketQueueFactory()
    TicketFactory.create_batch(60, queue=queue)
    left = TicketFactory(queue=other)

    job = done(asked(superuser(), Ticket, "move_to_queue", f"?queue__id__exact={queue.pk}", queue=target.pk))

    assert counts_of(job) == ("finished", 60, 60, 0, 0)
    assert Ticket.objects.filter(queue=target).count() == 60
    left.refresh_from_db()
    assert left.queue == other


def test_the_page_of_an_action_comes_first_and_says_how_many_rows_match_and_change():
    AgentFactory.create_batch(2, is_active=True)
    AgentFactory(is_active=False)
    client = superuser()

    page = choose(client, Agent, "deactivate").content.decode()

    assert "For all rows that match: 3." in page
    assert "It changes 2 of them; the others need no change." in page
    assert "The agents are logged out" in page
    # An action without a page of its own asks for confirmation too.
    assert "For all rows that match: 3." in choose(client, Agent, "activate").content.decode()
    assert not ListAction.objects.exists()
    assert Agent.objects.filter(is_active=True).count() == 2


def test_a_form_that_is_not_valid_is_shown_again_and_merging_takes_selected_tickets_only():
    TicketFactory.create_batch(2)
    client = superuser()

    page = choose(client, Ticket, "change_tags", added="x" * 101)
    refused = choose(client, Ticket, "merge_selected")

    assert page.status_code == 200
    assert "A tag has at most 100 characters." in page.content.decode()
    assert messages_of(refused) == ["This action takes selected rows only."]
    assert not ListAction.objects.exists()


@pytest.mark.slow("opens many pages")
@pytest.mark.parametrize(("action", "is_active"), [("activate", False), ("deactivate", True)])
def test_rows_that_need_no_change_are_counted_apart(action, is_active):
    AgentFactory.create_batch(2, is_active=is_active)
    AgentFactory.create_batch(3, is_active=not is_active)

    assert changed_and_unchanged(done(asked(superuser(), Agent, action))) == (5, 2, 3)
    assert changed_and_unchanged(done(asked(superuser(), Agent, action))) == (5, 0, 5)


def _values_of_forms() -> dict[str, Any]:
    """Return the values of the forms of actions that need some."""
    agent = AgentFactory(is_active=True)
    return {
        "tickets.ticket.assign_selected": {"agent": agent.login},
        "tickets.ticket.set_status": {"status": f"s{TicketStatusFactory().pk}"},
        "tickets.ticket.move_to_queue": {"queue": TicketQueueFactory().pk},
        "tickets.ticket.change_tags": {"added": "lamp"},
        "tickets.ticket.use_macro_on_selected": {"macro": MacroFactory().pk},
        "campaigns.record.set_status": {
            "status": DictionaryStatusFactory(system_status="CALL").pk,
            "next_call_at_0": "",
            "next_call_at_1": "",
        },
        "campaigns.record.assign": {"agent": agent.pk},
        "telephony.agent.pause_selected": {"pause": PauseFactory().pk},
        "tickets.receivedmail.discard_selected": {"reason": "spam"},
    }


# They begin something anew each time.
AGAIN = {"transcribe_again", "fetch_again", "resend_selected", "retry_selected", "use_macro_on_selected"}


def _twice(client: BackOffice, model: type[Model], name: str, values: dict[str, Any]) -> tuple[int, int]:
    """Apply an action to all rows twice, and undo it. Return the numbers of rows that were changed each time."""
    counts = []
    with transaction.atomic():
        for _turn in range(2):
            job = done(asked(client, model, name, **values)) if model._default_manager.exists() else ListAction()
            assert job.message == "", (model, name, job.message)
            assert job.place == job.done_count + job.unchanged_count + job.refused_count + job.skipped_count
            counts.append(job.done_count)
        transaction.set_rollback(True)
    return counts[0], counts[1]


def actions_of_lists(client: BackOffice) -> list[tuple[type[Model], str]]:
    """Return the actions on rows, each with the model of its list, of the models that have rows."""
    request = client.get("/admin/").wsgi_request
    return [
        (model, name)
        for model, shown in admin.site._registry.items()
        for name, (action, _name, _title) in cast("Any", shown).get_actions(request).items()
        if not getattr(action, "is_together", False) and model._default_manager.exists()
    ]


@pytest.mark.trial
@pytest.mark.slow("runs every action")
def test_no_action_counts_a_row_as_changed_that_it_changed_before():
    row_of_each_model()
    client, values = superuser(), _values_of_forms()
    counts = {
        (label := f"{model._meta.label_lower}.{name}"): _twice(client, model, name, values.get(label, {}))
        for model, name in actions_of_lists(client)
    }

    again = {label for label, (_first, second) in counts.items() if second}
    assert {label for label in again if label.rpartition(".")[2] not in AGAIN} == set()
    assert len([label for label, (first, _second) in counts.items() if first]) >= 15, counts


def test_refusals_are_counted_with_their_sentences():
    target = TicketFactory()
    merged = TicketFactory(merged_into=target)
    status = TicketStatusFactory()

    job = done(asked(superuser(), Ticket, "set_status", status=f"s{status.pk}"))

    assert job.done_count + job.refused_count == 2, (job.message, job.refusals)
    for entry in job.refusals.values():
        assert entry["ids"] == [str(merged.pk)]


def test_rows_that_no_longer_match_are_skipped():
    queue, target = TicketQueueFactory(), TicketQueueFactory()
    first, *_others = TicketFactory.create_batch(3, queue=queue)
    job = asked(superuser(), Ticket, "move_to_queue", f"?queue__id__exact={queue.pk}", queue=target.pk)
    do_portion(job)  # finds the rows
    Ticket.objects.filter(pk=first.pk).update(queue=TicketQueueFactory())

    assert counts_of(done(job)) == ("finished", 3, 2, 0, 1)


def test_rows_that_a_search_found_are_not_searched_for_again(monkeypatch):
    """A search that stops at so many rows may stop at others when new rows have come."""
    monkeypatch.setattr(record_search, "MAX_FOUND", 1)
    RecordFactory(phone_number="+48225550107")
    agent = AgentFactory(is_active=True)
    job = asked(superuser(), Record, "assign", "?q=22+555+01+07", agent=agent.pk)
    do_portion(job)  # finds the rows
    RecordFactory(phone_number="+48225550107")

    assert counts_of(done(job)) == ("finished", 1, 1, 0, 0)
    assert job.search_limit == 1


def test_a_cancelled_action_says_what_it_did(monkeypatch):
    monkeypatch.setattr(actions, "PORTION", 2)
    AgentFactory.create_batch(5, is_active=True)
    client = superuser()
    job = asked(client, Agent, "deactivate")
    do_portion(job)
    do_portion(job)

    client.post(f"{list_of(ListAction)}{job.pk}/cancel/")
    done(job)

    assert counts_of(job) == ("cancelled", 5, 2, 0, 0)
    assert job.left_count == 3
    assert Agent.objects.filter(is_active=False).count() == 2
    page = client.page(f"{list_of(ListAction)}{job.pk}/change/")
    assert "cancelled" in page
    assert "Cancelled by</dt><dd>" in page
    assert "Not reached" in page


def test_a_person_who_lost_the_right_meanwhile_stops_the_action(monkeypatch):
    monkeypatch.setattr(actions, "PORTION", 2)
    AgentFactory.create_batch(5, is_active=True)
    job = asked(staff("view_agent", "change_agent"), Agent, "deactivate")
    do_portion(job)
    do_portion(job)
    User.objects.get(pk=job.actor_id or 0).user_permissions.clear()

    done(job)

    assert counts_of(job) == ("failed", 5, 2, 0, 0)
    assert job.message


def test_an_action_stops_if_the_person_lacks_the_second_factor_that_they_need(settings):
    AgentFactory.create_batch(2, is_active=True)
    job = asked(superuser(), Agent, "deactivate")

    settings.TWO_FACTOR = "supervisors"
    done(job)

    assert (job.state, job.message) == ("failed", "The person who asked needs a second factor and has none.")
    assert Agent.objects.filter(is_active=True).count() == 2


def test_ids_of_many_portions_are_read_together_and_the_audit_log_names_the_person_who_asked(monkeypatch):
    monkeypatch.setattr(actions, "PORTION", 2)
    AgentFactory.create_batch(8, is_active=True)
    job = asked(staff("view_agent", "change_agent"), Agent, "deactivate")

    with CaptureQueriesContext(connection) as queries:
        assert done(job).done_count == 8

    assert len([query for query in queries if '"ids")[' in query["sql"]]) == 1
    # A job that has ended keeps no ids.
    assert (job.state, job.total_count, job.ids) == ("finished", 8, None)
    entries = AuditEntry.objects.filter(model="telephony.agent", action="edit", changes__has_key="is_active")
    people = entries.values_list("actor_kind", "actor_id", "actor_address")
    assert list(people) == [("user", job.actor_id, "127.0.0.1")] * 8


def test_an_action_has_the_scope_of_the_person():
    seen, other, target = TicketQueueFactory(), TicketQueueFactory(), TicketQueueFactory()
    TicketFactory(queue=seen)
    TicketFactory(queue=other)
    client = staff("view_ticket", "change_ticket")
    User.objects.update(scope_ticket_queues=[seen.pk, target.pk])

    job = done(asked(client, Ticket, "move_to_queue", queue=target.pk))

    assert counts_of(job) == ("finished", 1, 1, 0, 0)
    assert Ticket.objects.filter(queue=other).count() == 1


def test_records_of_several_campaigns_get_a_status_of_the_dictionary():
    RecordFactory.create_batch(2)
    status = DictionaryStatusFactory(system_status="CALL")

    job = done(asked(superuser(), Record, "set_status", status=status.pk, next_call_at_0="", next_call_at_1=""))

    assert job.facts["campaigns"] == sorted(Record.objects.values_list("campaign_id", flat=True))
    assert (job.state, job.total_count) == ("finished", 2)


def test_people_see_their_own_actions_and_cancel_no_others():
    AgentFactory(is_active=True)
    own, other = (staff("view_agent", "change_agent") for _each in range(2))
    overseer, auditor = staff("view_listaction", "see_all_list_jobs"), client_of(person("Auditor"))
    job = asked(own, Agent, "deactivate")
    page, cancel = (f"{list_of(ListAction)}{job.pk}/{name}/" for name in ("change", "cancel"))

    assert [client.get(page).status_code for client in (own, other, overseer)] == [200, 404, 200]
    # Auditors see the actions of all people and cancel none.
    assert page in auditor.page(list_of(ListAction))
    assert "Cancel the action" not in auditor.page(page)
    assert [client.post(cancel).status_code for client in (auditor, other, overseer)] == [403, 404, 302]
    assert done(job).state == "cancelled"


def test_an_action_is_in_the_audit_log_without_words_of_searches_and_forms():
    TicketFactory(subject="Kowalska")

    job = asked(superuser(), Ticket, "change_tags", "?q=Kowalska&o=1", added="Kowalska")

    entry = AuditEntry.objects.get(action="ask_action")
    assert (entry.actor_id, entry.object_id) == (job.actor_id, str(job.pk))
    assert entry.object_name == "Tickets: Change tags"
    assert entry.changes == {
        "list": [None, "tickets.ticket"],
        "action": [None, "change_tags"],
        "query": [None, "o=1&q=•••"],
    }
    done(job)
    forget()
    entry.refresh_from_db()
    assert entry.changes == {}


@pytest.mark.slow("opens many pages")
def test_an_action_with_rows_outside_the_present_scope_is_missing():
    inside, outside = AgentFactory(group=AgentGroupFactory()), AgentFactory(group=AgentGroupFactory())
    client = staff("view_agent", "change_agent")
    user = User.objects.filter(pk=client.session["_auth_user_id"])
    wide = done(asked(client, Agent, "deactivate"))
    user.update(scope_agent_groups=[inside.group_id])
    narrow = done(asked(client, Agent, "activate"))

    pages = [client.get(f"{list_of(ListAction)}{job.pk}/change/").status_code for job in (wide, narrow)]

    assert pages == [404, 200]
    assert (wide.done_count, narrow.done_count) == (2, 1)
    outside.refresh_from_db()
    assert not outside.is_active


@pytest.mark.slow("opens many pages")
def test_every_action_of_every_list_is_offered_for_all_rows_and_changes_nothing_yet():
    row_of_each_model()
    client = superuser()
    pages = {(model, name): choose(client, model, name).status_code for model, name in actions_of_lists(client)}

    assert set(pages.values()) == {200}, pages
    assert len(pages) > 20
    assert not ListAction.objects.exclude(actor_id=None).exists()
