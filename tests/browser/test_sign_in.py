"""The log-in with a second factor in a real Chromium: by a code of the app, and by a recovery code."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from callcentre.signin.models import RecoveryCode, SecondFactor, UserSession
from tests.browser.conftest import SCREENS, Visit
from tests.callcentre.factories import SecondFactorFactory, UserFactory, code_of

HOME = "/admin/"


@pytest.fixture(params=["desk", "phone"])
def visit(request, browser, live_server):
    """The browser of a stranger: on a desk, and in the dark on a phone."""
    scheme = "dark" if request.param == "phone" else "light"
    visit = Visit(browser, live_server.url, "unknown", viewport=SCREENS[request.param], color_scheme=scheme)
    yield visit
    visit.page.goto("about:blank")
    assert visit.trouble == []


def give_password(visit: Visit) -> Page:
    page = visit.open(HOME)
    page.get_by_label("Username").fill("ewa")
    page.get_by_label("Password").fill("user-pass")
    page.get_by_role("button", name="Log in").click()
    return page


def give_code(page: Page, code: str) -> None:
    page.get_by_label("Code of your app").fill(code)
    page.keyboard.press("Enter")


@pytest.mark.trial
def test_a_person_logs_in_with_the_second_factor(visit):
    factor = SecondFactorFactory(user=UserFactory(username="ewa", admin=True))

    page = give_password(visit)
    give_code(page, "000 000")
    expect(page.get_by_text("This code is wrong")).to_be_visible()
    SecondFactor.objects.update(throttling_failure_count=0)
    give_code(page, code_of(factor))

    expect(page.locator("#nav-sidebar-apps, #content").first).to_be_attached()
    expect(page).to_have_url(f"{visit.address}{HOME}")
    assert UserSession.objects.filter(user=factor.user).count() == 1
    pages = [reverse(name) for name in ("second-factor", "second-factor-codes", "second-factor-off", "own-sessions")]
    assert visit.faults_of(pages) == []


@pytest.mark.walk("desk")
def test_a_person_sets_up_the_second_factor_and_logs_in_with_a_recovery_code(visit, settings):
    settings.TWO_FACTOR = "supervisors"
    user = UserFactory(username="ewa", admin=True)

    page = give_password(visit)
    expect(page.get_by_alt_text("QR code with the key")).to_be_visible()
    page.get_by_label("Code of your app").fill(code_of(SecondFactor.objects.get()))
    page.get_by_role("button", name="Switch on").click()
    expect(page.locator("#recovery-codes code")).to_have_count(10)
    codes = page.locator("#recovery-codes code").all_text_contents()
    page.get_by_role("link", name="I have kept them").click()
    expect(page).to_have_url(f"{visit.address}{HOME}")
    page.context.clear_cookies()
    page = give_password(visit)
    give_code(page, codes[4])

    expect(page).to_have_url(f"{visit.address}{HOME}")
    assert RecoveryCode.objects.filter(user=user).count() == 9


@pytest.mark.trial
@pytest.mark.walk("phone")
def test_the_pages_around_the_log_in_fit_and_are_accessible(visit, settings):
    settings.TWO_FACTOR = "supervisors"
    user = UserFactory(username="ewa", admin=True)
    names = ("admin:login", "password-reset", "password-reset-done", "password-reset-complete")
    paths = [reverse(name) for name in names]

    assert visit.faults_of([*paths, f"/admin/login/reset/{user.pk}/c-x"]) == []
    give_password(visit)
    assert visit.faults_of([reverse("log-in-set-up")]) == []
