"""Counts and orders of long lists."""

import pytest

from callcentre.admin import lists
from callcentre.lists import counts
from telephony.models import Agent
from tests.admin_pages import list_of
from tests.backoffice import staff, superuser
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CompanyFactory
from tickets.models import Company

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def text_of(query: str = "") -> str:
    text: str = superuser().get(f"{list_of(Company)}list-count/{query}").json()["text"]
    return text


def test_a_count_is_exact_up_to_a_limit_and_needs_the_right_to_the_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    CompanyFactory.create_batch(4)

    assert text_of() == "4"
    monkeypatch.setattr("callcentre.admin.list_tools.MOST_COUNTED", 3)
    assert text_of() == "more than 3"
    assert staff("view_agent").get(f"{list_of(Company)}list-count/").status_code == 403


def test_a_count_that_takes_too_long_is_left_out(django_assert_num_queries: object) -> None:
    AgentFactory()
    slow = Agent.objects.extra(where=["pg_sleep(5) IS NOT NULL"])

    assert counts.count_up_to(slow) is None
    # One statement beside its limit.
    with django_assert_num_queries(5):  # type: ignore[operator]
        assert counts.count_up_to(Agent.objects.all()) == 1


def test_few_rows_are_sorted_by_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
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
