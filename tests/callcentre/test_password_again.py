"""The own password, asked for before a secret is shown or changed: the pages, the time, the limit."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest
from django.contrib import admin
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone

from callcentre.models import ApiUser, User
from tests.backoffice import BackOffice, after_a_while, errors_of, inputs_of, page_of, staff, superuser
from tests.callcentre.factories import ApiUserFactory, UserFactory
from tests.tickets.factories import MarketplaceFactory, TicketQueueFactory
from tests.webhooks.factories import WebhookFactory
from tickets.models import Marketplace
from webhooks.models import Webhook

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

OWN = "user-pass"
NEW = "a long and odd one"


@dataclass(frozen=True)
class Page:
    """A page that shows or changes a secret, with its input."""

    make: Callable[[], Model | None]
    name: str
    typed: dict[str, str] = field(default_factory=dict)
    # Pages of the admin without an object.
    add: str = ""

    def path(self, row: Model | None) -> str:
        return page_of(row, self.name) if row else reverse(f"admin:{self.add}_add")


def nothing() -> None:
    return None


PAGES = {
    "API user, new": Page(nothing, "", {"login": "robot"}, add="callcentre_apiuser"),
    "API user, new secret": Page(ApiUserFactory, "rotate_secret"),
    "API user, password": Page(ApiUserFactory, "set_password", {"password": NEW, "again": NEW}),
    "webhook, secret shown": Page(WebhookFactory, "show_secret"),
    "webhook, new secret": Page(WebhookFactory, "rotate_secret"),
    "webhook, credentials": Page(lambda: WebhookFactory(http_auth_user="us"), "change", {"new_password": NEW}),
    "webhook, no credentials": Page(
        lambda: WebhookFactory(http_auth_user="us"), "change", {"forget_credentials": "on"}
    ),
    "marketplace, secret shown": Page(MarketplaceFactory, "show_secret"),
    "marketplace, new secret": Page(MarketplaceFactory, "new_secret"),
    "marketplace, password": Page(MarketplaceFactory, "change", {"new_password": NEW}),
    "mailbox, password": Page(TicketQueueFactory, "change", {"language": "en", "new_password": NEW}),
    "mailbox, no password": Page(
        lambda: TicketQueueFactory(imap_password="before"), "change", {"language": "en", "forget_password": "on"}
    ),
    "user, new": Page(nothing, "", {"username": "jan", "password1": NEW, "password2": NEW}, add="callcentre_user"),
    "user, password": Page(UserFactory, "password", {"password1": NEW, "password2": NEW}),
}
every_page = pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
some_pages = pytest.mark.walk("webhook, secret shown", "mailbox, password", "user, new", "user, password")


def path_of(page: Page, row: Model | None) -> str:
    if row and page.name == "password":
        return reverse("admin:auth_user_password_change", args=[row.pk])
    return page.path(row)


def values_of(row: Model | None) -> Any:
    return type(row)._default_manager.filter(pk=row.pk).values().get() if row else None


def is_asked(text: str) -> bool:
    return 'name="own_password"' in text


@every_page
def test_without_the_own_password_no_secret_is_shown_or_changed(page):
    row = page.make()
    before = values_of(row)
    client = after_a_while(superuser())
    path = path_of(page, row)

    for own, said in ({}, "Type your own password."), ({"own_password": "wrong"}, "This is not your password."):
        response = client.submit(path, expected=200, **page.typed, **own)
        assert errors_of(response)["own_password"] == [said]
        assert "secret" not in response.context

    assert is_asked(client.page(path))
    assert values_of(row) == before
    assert not ApiUser.objects.filter(login="robot").exists()
    assert not User.objects.filter(username="jan").exists()


@some_pages
@every_page
def test_the_own_password_opens_secrets_for_ten_minutes(page, time_machine):
    row = page.make()
    time_machine.move_to(timezone.now(), tick=False)
    client = after_a_while(superuser())
    path = path_of(page, row)

    response = client.submit(path, expected={200, 302}, **page.typed, own_password=OWN)

    assert errors_of(response) == {}
    assert not is_asked(client.page(path))
    time_machine.shift(timedelta(minutes=9, seconds=59))
    assert not is_asked(client.page(path))
    time_machine.shift(timedelta(seconds=2))
    assert is_asked(client.page(path))


@some_pages
@every_page
def test_the_log_in_counts_as_the_own_password_for_ten_minutes(page):
    row = page.make()

    response = superuser().submit(path_of(page, row), expected={200, 302}, **page.typed)

    assert errors_of(response) == {}


@pytest.mark.parametrize("make", [WebhookFactory, MarketplaceFactory, ApiUserFactory, UserFactory])
def test_an_edit_without_a_secret_needs_no_password(make):
    row = make()

    response = after_a_while(superuser()).submit(page_of(row))

    assert errors_of(response) == {}


def test_viewing_a_webhook_needs_no_password():
    assert not is_asked(after_a_while(staff("view_webhook")).page(page_of(WebhookFactory())))


def test_the_form_keeps_its_input_while_it_asks_for_the_password():
    client = after_a_while(superuser())
    path = reverse("admin:callcentre_apiuser_add")

    response = client.submit(path, expected=200, login="robot", description="Nightly", rights=["tickets:read"])

    again = inputs_of(response.content.decode())
    assert (again["login"], again["description"], again["rights"]) == ("robot", "Nightly", "tickets:read")


def test_guesses_of_the_own_password_lock_out_like_guesses_at_the_log_in(settings):
    settings.LOGIN_FAILURES_PER_LOGIN = 3
    client = after_a_while(superuser())
    path = page_of(WebhookFactory(), "show_secret")

    wrong = [client.submit(path, expected=200, own_password=f"wrong-{number}") for number in range(3)]
    right = client.submit(path, expected=200, own_password=OWN)

    locked = ["Too many attempts. Try again in 5 minutes."]
    assert [errors_of(answer)["own_password"] for answer in wrong] == [["This is not your password."]] * 2 + [locked]
    assert errors_of(right)["own_password"] == locked
    assert "secret" not in right.context
    username = User.objects.get(is_superuser=True).username
    assert BackOffice().post(reverse("admin:login"), {"username": username, "password": OWN}).status_code == 429


def test_an_empty_password_is_no_guess(settings):
    settings.LOGIN_FAILURES_PER_LOGIN = 1
    client = after_a_while(superuser())
    path = page_of(WebhookFactory(), "show_secret")

    client.submit(path, expected=200)

    assert "secret" in client.submit(path, expected=200, own_password=OWN).context


def test_the_own_password_gives_a_session_a_new_key_and_is_in_no_history(caplog):
    """Check that a copy of the session taken before does not become a confirmed one."""
    webhook = WebhookFactory()
    client = after_a_while(superuser())
    before = str(client.session.session_key)

    response = client.submit(page_of(webhook, "rotate_secret"), expected=200, own_password=OWN)

    assert client.session.session_key != before
    assert not client.session.exists(before)
    # The history leads on, to the audit log.
    history = client.get(page_of(webhook, "history"), follow=True)
    assert OWN not in response.content.decode() + client.page(page_of(webhook)) + history.content.decode()
    assert OWN not in caplog.text


def test_a_password_given_in_one_session_does_not_count_in_another():
    client = superuser()
    other = BackOffice()
    other.force_login(User.objects.get(is_superuser=True))

    assert is_asked(after_a_while(other).page(page_of(webhook := WebhookFactory(), "show_secret")))
    assert not is_asked(client.page(page_of(webhook, "show_secret")))


def test_every_action_about_a_secret_is_tested():
    """Check that the table above has all actions whose names contain secret or password."""
    actions = {
        (model, name)
        for model, model_admin in admin.site._registry.items()
        for name in cast("Any", model_admin)._extract_action_names(cast("Any", model_admin).actions_detail)
        if "secret" in name or "password" in name
    }

    assert actions == {
        (ApiUser, "rotate_secret"),
        (ApiUser, "set_password"),
        (Webhook, "show_secret"),
        (Webhook, "rotate_secret"),
        (Marketplace, "show_secret"),
        (Marketplace, "new_secret"),
    }
