"""A page that asks for itself again gets its content, and nothing of what stands around it."""

import re
from typing import Any

import pytest

from tests.backoffice import page_of, superuser
from tests.campaigns.factories import CampaignFactory
from tests.telephony.factories import QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
POLL = {"X-Poll": "1"}


@pytest.fixture
def addresses():
    return [
        "/admin/telephony/queue/",
        f"/admin/telephony/queue/{QueueFactory().pk}/change/",
        f"/admin/campaigns/campaign/{CampaignFactory().pk}/dialling/",
        "/admin/first-steps/",
    ]


def tags(page: Any) -> list[str]:
    """Return the tags of what live.js takes from a page."""
    return re.findall(r'<[^>]*(?:id="result_list"|data-live)[^>]*>', page.content.decode())


@pytest.mark.usefixtures("with_menu")
@pytest.mark.slow("opens eight pages")
def test_the_live_parts_are_all_there_without_menu_and_head(addresses):
    boss = superuser()
    for address in addresses:
        whole, polled = boss.get(address), boss.get(address, headers=POLL)

        assert tags(polled) == tags(whole) != [], address
        assert b"<head>" not in polled.content, address
        assert b"/admin/callcentre/auditlog/" in whole.content, address
        assert b"/admin/callcentre/auditlog/" not in polled.content, address


def test_a_message_waits_for_a_page_that_a_person_opens(addresses):
    boss = superuser()
    boss.submit(page_of(QueueFactory(name="Hotline")), name="Orders")

    boss.get(addresses[0], headers=POLL)

    assert "changed successfully" in boss.get(addresses[0]).content.decode()
