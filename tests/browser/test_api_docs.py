from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page

from callcentre.models import User
from tests.browser.conftest import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def session_id(settings: Any, plain_http: None, transactional_db: None) -> str:
    """The page of a logged-in back-office user; static files have their own names."""
    backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": backend}}
    client = Client()
    client.force_login(User.objects.create_user("clerk", is_staff=True))
    return client.cookies["sessionid"].value


@pytest.fixture
def page(browser: Browser, session_id: str, live_server: Any) -> Page:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    context.add_cookies([{"name": "sessionid", "value": session_id, "url": live_server.url}])
    return context.new_page()


@pytest.mark.trial
def test_swagger_ui_shows_every_area_and_loads_nothing_from_elsewhere(page: Page, live_server: Any) -> None:
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))

    page.goto(f"{live_server.url}/api/docs")
    page.locator("#operations-campaigns-create_campaign").wait_for(state="attached")
    page.locator("#operations-campaigns-create_campaign").click()
    page.get_by_text("Spring offer").first.wait_for()

    elsewhere = [url for url in addresses if not url.startswith((live_server.url, "data:", "blob:"))]
    assert elsewhere == []


def test_trying_an_operation_asks_for_no_credential_of_the_session(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/api/docs#/service/ping")
    operation = page.locator("#operations-service-ping")
    operation.get_by_role("button", name="Try it out").click()
    with page.expect_response("**/api/ping") as answer:
        operation.get_by_role("button", name="Execute").click()

    assert (answer.value.status, "cookie" in answer.value.request.all_headers()) == (401, False)
