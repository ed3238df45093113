"""Saved views and columns of lists."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext

from callcentre.admin import lists
from callcentre.admin.list_views import ListViews
from callcentre.core.audit import AuditEntry
from callcentre.lists import counts
from callcentre.lists.cells import columns_of
from callcentre.lists.models import DefaultView, SavedView
from callcentre.lists.saved_views import address_of_view, default_of
from callcentre.models import User
from telephony.models import Agent
from tests.admin_pages import factory_of, list_of
from tests.backoffice import BackOffice, shown, staff, superuser
from tests.serving import at_once
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CompanyFactory, TicketFactory
from tickets.models import Company, Ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

LIST = list_of(Ticket)
VIEWS = f"{LIST}list-views/"


@pytest.fixture
def user():
    return User.objects.get(pk=superuser().session["_auth_user_id"])


def saved(client: BackOffice, query: str = "?q=lamp&cols=number,state", **values: Any) -> SavedView:
    client.post(f"{VIEWS}{query}", {"name": "Lamps", **values})
    return SavedView.objects.latest("id")


def test_a_view_keeps_filters_search_order_and_columns():
    client = superuser()

    view = saved(client, "?q=lamp&source__exact=MAIL&o=1&p=3&cols=number,state")

    assert view.query == "q=lamp&source__exact=MAIL&o=number&cols=number%2Cstate"
    assert "Lamps" in client.page(VIEWS)
    assert client.get(f"{LIST}?{view.query}&saved={view.pk}").status_code == 200


def test_a_view_is_private_unless_it_is_shared():
    own = staff("view_ticket", "share_savedview")
    other = staff("view_ticket")

    view = saved(own)
    assert "Lamps" not in other.page(VIEWS)
    assert other.post(f"{VIEWS}{view.pk}/", {"do": "delete"}).status_code == 404

    own.post(f"{VIEWS}{view.pk}/", {"do": "rename", "name": "Bulbs", "is_shared": "on"})
    assert "Bulbs" in other.page(VIEWS)
    assert other.post(f"{VIEWS}{view.pk}/", {"do": "delete"}).status_code == 403
    assert other.post(f"{VIEWS}{view.pk}/", {"do": "rename", "name": "Mine"}).status_code == 403


def test_the_audit_log_names_who_shared_renamed_and_deleted_a_view():
    own = staff("view_ticket", "share_savedview")
    view = saved(own, "?q=Kowalska")
    own.post(f"{VIEWS}{view.pk}/", {"do": "rename", "name": "Bulbs", "is_shared": "on"})
    own.post(f"{VIEWS}{view.pk}/", {"do": "delete-shared"})

    entries = AuditEntry.objects.filter(model="lists.savedview", object_id=str(view.pk)).order_by("id")
    assert [(entry.action, entry.object_name, entry.actor_id, entry.actor_address) for entry in entries] == [
        ("create", "Lamps", view.user_id, "127.0.0.1"),
        ("edit", "Bulbs", view.user_id, "127.0.0.1"),
        ("delete", "Bulbs", view.user_id, "127.0.0.1"),
    ]
    assert entries[1].changes == {"name": ["Lamps", "Bulbs"], "is_shared": [False, True]}
    assert "Kowalska" not in str([entry.changes for entry in entries])


def test_sharing_and_views_need_rights_and_a_name_is_used_once():
    client = superuser()
    saved(client)
    response = client.post(VIEWS, {"name": "Lamps"})

    assert "You have a view of this name." in response.content.decode()
    assert SavedView.objects.count() == 1
    assert not saved(staff("view_ticket"), is_shared="on").is_shared
    assert staff("view_agent").get(VIEWS).status_code == 403


def test_a_list_opens_with_the_default_view_of_the_person_also_after_the_next_log_in_until_it_is_deleted():
    client = superuser()
    view = saved(client, is_default="on")

    assert client.get(LIST)["Location"] == f"{LIST}?{view.query}&saved={view.pk}"
    client.force_login(User.objects.get(pk=view.user_id))
    assert default_of(client.session, "tickets.ticket")
    assert superuser().get(LIST).status_code == 200

    client.post(f"{VIEWS}{view.pk}/", {"do": "no-default"})
    assert client.get(LIST).status_code == 200
    client.post(f"{VIEWS}{view.pk}/", {"do": "default"})
    assert client.get(LIST).status_code == 302
    client.post(f"{VIEWS}{view.pk}/", {"do": "delete"})
    assert client.get(LIST).status_code == 200
    assert not SavedView.objects.exists()


def test_a_shared_view_has_the_same_order_for_each_reader():
    """Actions put a column of boxes before the others for one reader and not for another."""
    for surname in ("Beta", "Alpha", "Gamma"):
        AgentFactory(name="Eva", surname=surname)
    own, other = superuser(), staff("view_agent")
    boxes = [client.get(list_of(Agent)).context["cl"].list_display[0] for client in (own, other)]
    place = [*admin.site._registry[Agent].list_display].index("full_name") + 1
    own.post(f"{list_of(Agent)}list-views/?o=-{place}", {"name": "Agents", "is_shared": "on"})
    view = SavedView.objects.get()

    lists = [client.get(f"{list_of(Agent)}?{address_of_view(view)}").context["cl"] for client in (own, other)]

    assert (boxes[0] == "action_checkbox") != (boxes[1] == "action_checkbox")
    assert view.query == "o=-full_name"
    assert [[row.surname for row in shown.result_list] for shown in lists] == [["Gamma", "Beta", "Alpha"]] * 2
    orders = [[*shown.get_ordering_field_columns()] for shown in lists]
    assert [shown.list_display[order[0]] for shown, order in zip(lists, orders, strict=True)] == ["full_name"] * 2


def test_all_rows_of_a_list_can_be_reached_from_the_view_with_which_it_opens():
    """The bare address leads to the view, so no link of the list has it."""
    ticket = TicketFactory(subject="Vase")
    client = superuser()
    saved(client, "?q=lamp", is_default="on")
    opened = client.get(LIST, follow=True)
    bare = re.compile(r'href="\??"')

    pages = [
        opened.content.decode(),
        *(client.page(f"{LIST}{query}") for query in ("?q=none", "?view=late", "?saved=")),
    ]

    assert [shown(page, ticket) for page in pages] == [[], [], [], [ticket]]
    assert [bare.findall(page) for page in pages] == [[]] * 4
    # Also those of a filtered list that is counted.
    for is_active in (True, False):
        AgentFactory(is_active=is_active)
    pages += [client.page(f"{list_of(Agent)}{query}") for query in ("?q=nothing+has+this", "?is_active__exact=1")]
    assert not any('href="?"' in page for page in pages)
    assert all('href="?saved="' in page for page in pages)


def test_a_shared_view_is_deleted_after_a_question_and_then_opens_no_list_of_another_person():
    own, other = superuser(), staff("view_ticket")
    view = saved(own, is_shared="on")
    other.post(f"{VIEWS}{view.pk}/", {"do": "default"})
    opened = other.get(LIST).status_code

    question = own.post(f"{VIEWS}{view.pk}/", {"do": "delete"}).content.decode()
    asked = SavedView.objects.exists()
    own.post(f"{VIEWS}{view.pk}/", {"do": "delete-shared"})

    assert "other people lose it too" in question
    assert 'value="delete-shared"' in question
    assert (asked, SavedView.objects.exists()) == (True, False)
    assert (opened, other.get(LIST).status_code) == (302, 200)


def test_a_list_shows_the_chosen_columns_in_their_order():
    TicketFactory(subject="Lamp")
    client = superuser()

    response = client.post(
        f"{VIEWS}?q=",
        {"columns": "1", "column": ["number", "subject", "state"], "place-subject": "1", "place-number": "2"},
    )
    shown = client.get(response["Location"]).context["cl"].list_display

    assert [name for name in shown if name != "action_checkbox"] == ["subject", "number", "state"]


OFFERING = [model for model, shown in admin.site._registry.items() if getattr(shown, "list_further", ())]


@pytest.mark.parametrize("model", OFFERING, ids=lambda model: model._meta.model_name)
def test_further_columns_cost_no_query_for_each_row(model):
    """The list is exported too, so that the cells of a file are read."""
    make = factory_of(model)
    shown: Any = admin.site._registry[model]
    client = superuser()
    address = f"{list_of(model)}?cols={','.join(shown.list_further)}"

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            response = client.get(address)
        assert response.context["cl"].list_display[-1] == shown.list_further[-1]
        rows = list(response.context["cl"].result_list)
        with CaptureQueriesContext(connection) as of_cells:
            for row in rows:
                assert all(column.text(row) is not None for column in columns_of(shown, shown.list_further))
        return len(seen) + len(of_cells)

    make()
    make()
    client.get(address)  # fills the caches
    few = queries()
    for _row in range(3):
        make()

    assert len(OFFERING) >= 11
    assert queries() == few


def test_columns_that_the_list_does_not_offer_are_left_out():
    TicketFactory()
    client = superuser()

    assert "password" not in client.get(f"{LIST}?cols=password,number").context["cl"].list_display
    assert client.get(f"{LIST}?cols=password").status_code == 200


# Filters that the list does not have, or no longer has

LISTS = [model for model, shown in admin.site._registry.items() if isinstance(shown, ListViews)]
each_list = pytest.mark.parametrize("model", LISTS, ids=lambda model: model._meta.label)


@pytest.mark.walk("tickets.Ticket", "telephony.Connection", "campaigns.Record", "callcentre.User")
@each_list
def test_a_view_with_an_unknown_filter_is_not_saved_and_a_list_whose_default_has_one_opens_whole(model):
    client: Any = superuser()

    answer = client.post(f"{list_of(model)}list-views/?foo=1", {"name": "Lamps", "is_default": "on"})

    assert "The list has no such filter, so the view was not saved." in answer.content.decode()
    assert not SavedView.objects.exists()

    user = User.objects.get(pk=client.session["_auth_user_id"])
    view = SavedView.objects.create(user=user, list_name=model._meta.label_lower, name="Old", query="foo=1")
    DefaultView.objects.create(user=user, list_name=view.list_name, view=view)
    client.force_login(user)

    answer = client.get(list_of(model), follow=True)

    assert [place for place, _status in answer.redirect_chain] == [
        f"{list_of(model)}?foo=1&saved={view.pk}",
        f"{list_of(model)}?saved=",
    ]
    assert answer.status_code == 200
    assert "no longer has a filter of the view" in answer.content.decode()


# Requests that arrive at once


def of_six_browsers(user: User, send: Callable[[BackOffice, int], int]) -> set[int]:
    """Send requests of one person from six browsers, four times, and return the statuses."""
    browsers = [BackOffice(raise_request_exception=False) for _ in range(6)]
    for browser in browsers:
        browser.force_login(user)
    return {status for turn in range(4) for status in at_once(partial(send, each, turn) for each in browsers)}


def test_a_default_view_is_chosen_by_several_requests(committed_db, user):
    view = SavedView.objects.create(user=user, list_name="tickets.ticket", name="Lamps")

    found = of_six_browsers(user, lambda client, turn: client.post(f"{VIEWS}{view.pk}/", {"do": "default"}).status_code)

    assert (found, DefaultView.objects.count()) == ({302}, 1)


@pytest.mark.slow("runs threads")
def test_a_view_is_saved_by_several_requests_under_one_name(committed_db, user):
    values = {"is_default": "on"}

    found = of_six_browsers(
        user, lambda client, turn: client.post(VIEWS, {"name": f"Lamps {turn}", **values}).status_code
    )

    assert (found, SavedView.objects.count(), DefaultView.objects.count()) == ({200, 302}, 4, 1)


@pytest.mark.slow("runs threads")
def test_a_view_is_chosen_and_deleted_at_once(committed_db, user):
    views = [SavedView.objects.create(user=user, list_name="tickets.ticket", name=f"Lamps {n}") for n in range(4)]
    verbs = iter(["default", "delete"] * 12)

    found = of_six_browsers(
        user, lambda client, turn: client.post(f"{VIEWS}{views[turn].pk}/", {"do": next(verbs)}).status_code
    )

    assert found <= {302, 404}
    assert not SavedView.objects.exists()


# Counts and orders of long lists


def text_of(query: str = "") -> str:
    text: str = superuser().get(f"{list_of(Company)}list-count/{query}").json()["text"]
    return text


def test_a_count_is_exact_up_to_a_limit_and_needs_the_right_to_the_list(monkeypatch):
    CompanyFactory.create_batch(4)

    assert text_of() == "4"
    monkeypatch.setattr("callcentre.admin.list_tools.MOST_COUNTED", 3)
    assert text_of() == "more than 3"
    assert staff("view_agent").get(f"{list_of(Company)}list-count/").status_code == 403


def test_a_count_that_takes_too_long_is_left_out(django_assert_num_queries):
    AgentFactory()
    slow = Agent.objects.extra(where=["pg_sleep(5) IS NOT NULL"])

    assert counts.count_up_to(slow) is None
    # One statement beside its limit.
    with django_assert_num_queries(5):
        assert counts.count_up_to(Agent.objects.all()) == 1


def test_few_rows_are_sorted_by_a_column(monkeypatch):
    for name in ("beta", "alpha", "gamma"):
        CompanyFactory(name=name)
    client = superuser()

    def names() -> list[str]:
        rows = client.get(list_of(Company), {"o": "0"}).context["cl"].result_list
        return [row.name for row in rows]

    assert names() == ["alpha", "beta", "gamma"]
    monkeypatch.setattr(lists, "MOST_COUNTED", 2)
    assert names() == ["gamma", "alpha", "beta"]
    assert "Too many rows match to sort them" in client.page(list_of(Company), o="0")
