"""Requests about saved views that arrive at once."""

from collections.abc import Callable
from functools import partial

import pytest

from callcentre.lists.models import DefaultView, SavedView
from callcentre.models import User
from tests.admin_pages import list_of
from tests.backoffice import BackOffice, superuser
from tests.serving import at_once
from tickets.models import Ticket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("plain_static")]

VIEWS = f"{list_of(Ticket)}list-views/"


def of_six_browsers(user: User, send: Callable[[BackOffice, int], int]) -> set[int]:
    """Send requests of one person from six browsers, four times, and return the statuses."""
    browsers = [BackOffice(raise_request_exception=False) for _ in range(6)]
    for browser in browsers:
        browser.force_login(user)
    return {status for turn in range(4) for status in at_once(partial(send, each, turn) for each in browsers)}


@pytest.fixture
def user() -> User:
    return User.objects.get(pk=superuser().session["_auth_user_id"])


def test_a_default_view_is_chosen_by_several_requests(user: User) -> None:
    view = SavedView.objects.create(user=user, list_name="tickets.ticket", name="Lamps")

    found = of_six_browsers(user, lambda client, turn: client.post(f"{VIEWS}{view.pk}/", {"do": "default"}).status_code)

    assert (found, DefaultView.objects.count()) == ({302}, 1)


@pytest.mark.slow("runs threads")
def test_a_view_is_saved_by_several_requests_under_one_name(user: User) -> None:
    values = {"is_default": "on"}

    found = of_six_browsers(
        user, lambda client, turn: client.post(VIEWS, {"name": f"Lamps {turn}", **values}).status_code
    )

    assert (found, SavedView.objects.count(), DefaultView.objects.count()) == ({200, 302}, 4, 1)


@pytest.mark.slow("runs threads")
def test_a_view_is_chosen_and_deleted_at_once(user: User) -> None:
    views = [SavedView.objects.create(user=user, list_name="tickets.ticket", name=f"Lamps {n}") for n in range(4)]
    verbs = iter(["default", "delete"] * 12)

    found = of_six_browsers(
        user, lambda client, turn: client.post(f"{VIEWS}{views[turn].pk}/", {"do": next(verbs)}).status_code
    )

    assert found <= {302, 404}
    assert not SavedView.objects.exists()
