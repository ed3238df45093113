"""The front page of each role: all its links open, and it tells nothing of pages that the role does not open."""

import re
from typing import Any

import pytest

from callcentre.core.scope import DIMENSIONS
from tests.admin_pages import row_of_each_model
from tests.knowledgebase.factories import ArticleFactory, SearchMissFactory
from tests.rights.people import ROLES, client_of, person
from webhooks.models import Webhook

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("plain_static"),
    pytest.mark.slow("opens every link as each role"),
]

SCOPES: dict[str, dict[str, Any]] = {"all": {}, "none": {column: [] for column in DIMENSIONS}}


@pytest.mark.walk("Supervisor-all")
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("role", ROLES)
def test_each_link_of_the_front_page_opens(role, scope):
    row_of_each_model()
    Webhook.objects.update(is_active=True, failing_since=None)  # the panel of healthy receivers
    client = client_of(person(role, **SCOPES[scope]))

    links = set(re.findall(r'href="(/admin/[^"#]*)"', client.page("/admin/")))

    assert len(links) > 3
    closed = {link: answer.status_code for link in links if (answer := client.get(link)).status_code not in (200, 302)}
    assert closed == {}


def test_searches_without_a_result_are_for_those_who_may_list_them():
    ArticleFactory()
    SearchMissFactory(query="gift cards")

    told = {role for role in ROLES if "gift cards" in client_of(person(role)).page("/admin/")}

    assert told == set(ROLES) - {"Agent"}
