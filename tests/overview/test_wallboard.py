"""The wallboard: chosen queues and campaigns, and the session of a screen."""

import pytest
from django.urls import reverse

from tests.backoffice import staff, superuser
from tests.campaigns.factories import CampaignFactory
from tests.overview.reading import parts_of
from tests.telephony.factories import QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def test_the_wallboard_shows_what_was_chosen_or_everything_that_the_user_may_see() -> None:
    queues, campaigns = QueueFactory.create_batch(2), CampaignFactory.create_batch(2)
    query = f"?wall=1&queue={queues[0].pk}&outbound={campaigns[1].pk}&queue=nonsense"
    of_queues = [f"queue-{queue.pk}" for queue in queues]
    of_campaigns = [f"campaign-{campaign.pk}" for campaign in campaigns]

    chosen, everything = (
        [key for key in parts_of(superuser(), asked) if key != "notes"] for asked in (query, "?wall=1")
    )

    assert chosen == [of_queues[0], of_campaigns[1]]
    assert everything == [*of_queues, *of_campaigns]
    assert set(parts_of(staff("view_queue"), "?wall=1")) == {"notes", *of_queues}
    assert set(parts_of(staff("view_article"), "?wall=1")) == {"empty"}


def test_the_wallboard_shows_the_chosen_figures_and_offers_what_it_can_show() -> None:
    queue, _campaign = QueueFactory(name="Hotline"), CampaignFactory(name="Spring")

    chosen = parts_of(superuser(), "?wall=1&figure=longest&figure=free&figure=nonsense")
    parts = parts_of(superuser(), "?wall=1&figure=nonsense")

    assert [tile["key"] for tile in chosen[f"queue-{queue.pk}"]["tiles"]] == ["longest", "free"]
    assert {key for key in chosen if key != "notes"} == {f"queue-{queue.pk}"}
    offered = {
        name: values for _title, name, values in superuser().values(reverse("wallboard"), figure="free")["choices"]
    }
    assert offered["queue"] == [(str(queue.pk), "Hotline", False)]
    assert [value for value, _label, is_chosen in offered["figure"] if is_chosen] == ["free"]
    assert {value for value, _label, _chosen in offered["figure"]} >= {
        tile["key"] for part in parts.values() for tile in part.get("tiles", ())
    }
    assert "outbound" not in {
        name for _title, name, _values in staff("view_queue").values(reverse("wallboard"))["choices"]
    }


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
