"""The admin in a real Chromium: its scripts, the files that it loads, and the width of its pages."""

from typing import Any

import pytest
from django.contrib import admin
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.urls import reverse
from playwright.sync_api import expect

from callcentre.models import ApiUser
from campaigns.models import Campaign, Record
from telephony.models import Recording
from tests.admin_pages import addresses, routes, row_of_each_model
from tests.backoffice import page_of, superuser
from tests.browser.conftest import SCREENS, Visit
from tests.callcentre.factories import UserFactory
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ApiClient
from tests.telephony.factories import RecordingFactory, TranscriptionFactory
from tests.telephony.sound import wav
from tests.tickets.factories import CustomerFactory, TicketFactory
from tests.webhooks.factories import ResendFactory

LABELS = sorted({model._meta.app_label for model in admin.site._registry})


# CI opens one page of so many of each app on each screen, beginning with this one.
SAMPLE = 12
FIRST = {"desk": 0, "phone": SAMPLE // 2}
KIND_OF_SCREEN = {"desk": "light", "phone": "dark"}


def pages_of(label: str, *, step: int = 1, first: int = 0) -> list[str]:
    """Return the address of each page of an app, or of one in `step`, without downloads and parts of pages."""
    of_label = [route for route in routes() if route.startswith(f"{label}/")]
    if label == LABELS[0]:  # and the pages that belong to no app
        of_label += [route for route in routes() if route.split("/")[0] not in LABELS]
    rows, client = row_of_each_model(), superuser()
    found = addresses(rows, of_label)
    if label == "campaigns":
        found.append(f"{reverse('admin:campaigns_record_add')}?campaign={rows[Campaign].pk}")
    found = found[first::step]
    return [address for address in found if is_page(client.get(address))]


def is_page(answer: Any) -> bool:
    return answer.status_code == 200 and not answer.streaming and b"<html" in answer.content


@pytest.mark.trial
def test_the_scroll_bar_follows_the_colour_mode(visit):
    page = visit.open(page_of(ResendFactory(state="running", total_count=4, done_count=1)))
    shade = """(dark) => {
        document.documentElement.classList.toggle("dark", dark);
        return getComputedStyle(document.querySelector(".cc-bar")).backgroundColor;
    }"""
    lightness = """(colour) => {
        const brush = new OffscreenCanvas(1, 1).getContext("2d");
        brush.fillStyle = colour;
        brush.fillRect(0, 0, 1, 1);
        return brush.getImageData(0, 0, 1, 1).data[0];
    }"""

    light, dark = (page.evaluate(lightness, page.evaluate(shade, is_dark)) for is_dark in (False, True))

    assert light > 200
    assert dark < 100


@pytest.fixture
def screened(screen, browser, session_id, live_server):
    """A visit with this screen, whose pages load nothing from elsewhere, fail in no script and break no policy."""
    visit = Visit(browser, live_server.url, session_id, viewport=SCREENS[screen], color_scheme=KIND_OF_SCREEN[screen])
    yield visit
    assert visit.trouble == []


@pytest.mark.trial
@pytest.mark.timeout(900)
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("label", LABELS)
def test_every_page_fits_the_screen_loads_nothing_from_elsewhere_no_script_fails_and_the_policy_stops_nothing(
    label, screen, screened
):
    assert screened.faults_of(pages_of(label)) == []


@pytest.mark.walk("tickets-phone")
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("label", LABELS)
def test_a_sample_of_the_pages_fits_the_screen_and_no_script_fails(label, screen, screened):
    assert screened.faults_of(pages_of(label, step=SAMPLE, first=FIRST[screen])) == []


@pytest.mark.trial
def test_the_secret_of_a_new_api_user_is_shown_once(visit):
    page = visit.open(reverse("admin:callcentre_apiuser_add"))
    page.fill("#id_login", "robot")
    page.check("input[value='campaigns:read']")
    page.click("button[name=_save]")
    secret = page.locator("#secret").inner_text()

    with page.expect_navigation():
        page.get_by_text("I have copied it").click()

    assert secret not in page.content()
    assert ApiUser.objects.get().rights == ["campaigns:read"]
    assert ApiClient("robot", secret).get("/api/ping").status_code == 204


@pytest.mark.trial
def test_records_are_filtered_by_a_searched_campaign(visit):
    here, there = RecordFactory(campaign__name="Spring offer"), RecordFactory(campaign__name="Autumn offer")
    page = visit.open(reverse("admin:campaigns_record_changelist"))

    page.get_by_text("Filters").first.click()
    page.locator(".select2-selection").first.click()
    page.keyboard.type("Spring")
    page.get_by_role("option", name="Spring offer").click()
    page.get_by_role("button", name="Apply").click()

    expect(page.locator("#result_list")).to_contain_text(here.phone_number)
    expect(page.locator("#result_list")).not_to_contain_text(there.phone_number)


@pytest.mark.trial
def test_many_records_are_selected_and_get_a_status(visit):
    records = RecordFactory.create_batch(3, campaign=CampaignFactory())
    page = visit.open(reverse("admin:campaigns_record_changelist"))

    for record in records[:2]:
        page.check(f"input.action-select[value='{record.pk}']")
    page.select_option("select[name=action]", "set_status")
    page.locator("#changelist-actions-wrapper button[type=submit]").click()
    page.select_option("select[name=status]", label="Do not call")
    page.get_by_role("button", name="Set the status").click()

    expect(page.locator("body")).to_contain_text("2 records changed.")
    statuses = Record.objects.order_by("id").values_list("system_status", flat=True)
    assert list(statuses) == ["NO_CALL", "NO_CALL", "TO_CALL"]


@pytest.mark.trial
def test_a_field_is_added_to_a_campaign_in_its_tab(visit):
    campaign = CampaignFactory()
    page = visit.open(reverse("admin:campaigns_campaign_change", args=[campaign.pk]))

    page.locator("#tabs-items").get_by_text("Fields", exact=True).click()
    page.get_by_text("Add another Campaign field").click()
    page.fill("#id_fields-0-name", "city")
    with page.expect_navigation():
        page.click("button[name=_continue]")

    assert [field.name for field in Campaign.objects.get().fields.all()] == ["city"]


@pytest.mark.walk("phone")
@pytest.mark.parametrize("screen", SCREENS)
def test_the_first_fault_of_a_form_is_in_sight_in_its_tab_and_all_tabs_are(screen, visit):
    campaign = CampaignFactory(dialer="predictive")
    visit.page.set_viewport_size(SCREENS[screen])
    page = visit.open(page_of(campaign))
    tabs = page.locator("#tabs-items a")
    assert all(tab.is_visible() for tab in tabs.all())
    assert tabs.count() == 8

    tabs.filter(has_text="Dialler").click()
    page.fill("#id_wrap_up_seconds", "9999")
    tabs.filter(has_text="Statuses").click()
    page.click("button[name=_save]")

    expect(page.locator("#id_wrap_up_seconds")).to_be_focused()
    expect(page.locator("#id_wrap_up_seconds")).to_be_in_viewport(ratio=1)
    assert page.evaluate(
        """() => {
            const bar = document.querySelector("#submit-row").getBoundingClientRect();
            return document.activeElement.getBoundingClientRect().bottom <= bar.top;
        }"""
    )
    assert visit.trouble == []


def test_the_bar_that_saves_is_beside_the_form_and_not_under_the_timeline(visit):
    customer = CustomerFactory()
    TicketFactory.create_batch(12, customer=customer)
    page = visit.open(page_of(customer))
    bar = page.locator("#submit-row")
    expect(bar).to_be_hidden()

    page.get_by_role("link", name="Edit the data").click()

    expect(bar).to_be_visible()
    expect(bar.get_by_role("link", name="Delete")).to_have_css("background-color", "rgb(255, 255, 255)")


def test_a_person_logs_in_and_changes_the_language(browser, session_id, live_server):
    UserFactory(username="ewa", admin=True)
    page = Visit(browser, live_server.url, "", viewport=SCREENS["desk"]).open(reverse("admin:index"))

    page.fill("#id_username", "ewa")
    page.fill("#id_password", "user-pass")
    page.get_by_role("button", name="Log in").click()
    page.get_by_text("ewa", exact=True).click()
    page.get_by_role("button", name="polski").click()

    expect(page.locator("html")).to_have_attribute("lang", "pl")


@pytest.mark.trial
def test_log_names_who_changed_a_campaign_by_page_and_by_api(visit, api):
    campaign = CampaignFactory(name="Spring", wrap_up_seconds=30)
    page = visit.open(page_of(campaign))
    page.locator("#tabs-items a").filter(has_text="Dialler").click()
    page.locator("#id_wrap_up_seconds").fill("45")
    page.locator("#id_wrap_up_seconds").press("Enter")
    page.wait_for_load_state()
    api.put(f"/api/outbounds/{campaign.code}", {"name": "Summer"}, REMOTE_ADDR="192.0.2.7")

    visit.open(page_of(campaign, "history"))

    rows = page.locator("#result_list tbody tr")
    expect(rows.nth(0)).to_contain_text("name: Spring → Summer")
    expect(rows.nth(0)).to_contain_text("API user")
    expect(rows.nth(0)).to_contain_text("192.0.2.7")
    expect(rows.nth(1)).to_contain_text("30 → 45")
    expect(rows.nth(1)).to_contain_text("127.0.0.1")


def test_a_recording_plays_from_the_clicked_line(visit, own_storage):
    recording: Recording = RecordingFactory(ready=True, seconds=20)
    recording.file.name = default_storage.save(recording.path, ContentFile(wav(1000, seconds=20)))
    recording.save(update_fields=["file"])
    page = visit.open(page_of(TranscriptionFactory(connection=recording.connection, finished=True)))
    player = page.locator("audio")
    expect(page.get_by_text("I am calling about my invoice.")).to_be_visible()
    page.get_by_role("button", name="0:15").click()

    expect(player).to_have_js_property("paused", value=False)
    heard_from = player.evaluate("player => player.played.length ? player.played.start(0) : player.currentTime")
    assert 14.9 <= heard_from < 20
    assert player.evaluate("player => player.duration") == 20
    assert visit.trouble == []


def test_swagger_ui_shows_every_area_loads_nothing_from_elsewhere_and_sends_no_credential(free_visit):
    page = free_visit.open("/api/docs#/service/ping")
    page.locator("#operations-campaigns-create_campaign").click()
    page.get_by_text("Spring offer").first.wait_for()
    assert [said for said in free_visit.trouble if said.startswith("loads ")] == []

    operation = page.locator("#operations-service-ping")
    operation.get_by_role("button", name="Try it out").click()
    with page.expect_response("**/api/ping") as answer:
        operation.get_by_role("button", name="Execute").click()

    assert (answer.value.status, "cookie" in answer.value.request.all_headers()) == (401, False)
