"""The wallboard: chosen queues and campaigns, and the session of a screen."""

import pytest
from django.urls import reverse

from tests.backoffice import staff, superuser
from tests.campaigns.factories import CampaignFactory
from tests.overview.reading import parts_of
from tests.telephony.factories import QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def test_the_wallboard_shows_what_was_chosen() -> None:
    queues = QueueFactory.create_batch(2)
    campaigns = CampaignFactory.create_batch(2)
    query = f"?wall=1&queue={queues[0].pk}&outbound={campaigns[1].pk}&queue=nonsense"

    keys = [key for key in parts_of(superuser(), query) if key != "notes"]

    assert keys == [f"queue-{queues[0].pk}", f"campaign-{campaigns[1].pk}"]


def test_the_wallboard_shows_everything_without_a_choice_and_nothing_without_a_right() -> None:
    queue, campaign = QueueFactory(), CampaignFactory()

    keys = [key for key in parts_of(superuser(), "?wall=1") if key != "notes"]
    assert keys == [f"queue-{queue.pk}", f"campaign-{campaign.pk}"]
    assert set(parts_of(staff("view_queue"), "?wall=1")) == {"notes", f"queue-{queue.pk}"}
    assert set(parts_of(staff("view_article"), "?wall=1")) == {"empty"}


def test_the_wallboard_has_no_menu_and_keeps_the_session_of_a_viewer_only() -> None:
    QueueFactory(name="Hotline")
    address = reverse("wallboard")

    page = staff("view_queue").page(address, mode="dark")

    assert "Hotline" in page
    assert 'class="wb dark"' in page
    assert "data-keeps" in page
    assert "admin:logout" not in page
    assert reverse("admin:telephony_queue_changelist") not in page
    assert "data-keeps" not in staff("view_queue", "change_queue").page(address)
    assert "data-keeps" not in superuser().page(address)
