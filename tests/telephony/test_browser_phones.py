"""Phones in browsers: opened, known to the switch, registered, closed; and no call to one that is not registered."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.errors import Conflict
from campaigns.dialling.agents import agents_of
from telephony.calls import browser_phones, distribution, switch_events
from telephony.models import Agent, BrowserPhone, Offer
from telephony.switch.base import PhoneChanged, SwitchUnreachable
from telephony.verbs import presence
from tests.campaigns.factories import CampaignFactory
from tests.conftest import ACTOR
from tests.telephony.callers import call_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("switch")]


@pytest.fixture
def anna(anna):
    anna.uses_browser_phone = anna.outbound_mode = True
    anna.save()
    return anna


def heard(number: str, *, is_online: bool) -> None:
    switch_events.handle(PhoneChanged(number, timezone.now(), is_online))


def is_registered(agent: Agent) -> bool:
    return BrowserPhone.objects.get(agent=agent).registered_at is not None


def test_a_phone_is_opened_registered_and_closed(anna, switch):
    first = browser_phones.open_phone(anna)
    assert switch.told == [("add_phone", "101")]
    assert not is_registered(anna)
    heard("101", is_online=True)
    assert is_registered(anna)
    heard("101", is_online=False)
    assert not is_registered(anna)
    # The next window gets another password, and the first one has no say any more.
    second = browser_phones.open_phone(anna)
    assert second.password != first.password
    assert not browser_phones.hear_of(anna, first.token, "")
    assert browser_phones.hear_of(anna, second.token, "denied")
    browser_phones.close_phone(anna, first.token)
    assert BrowserPhone.objects.get(agent=anna).trouble == "denied"
    browser_phones.close_phone(anna, second.token)
    assert switch.told[-1] == ("remove_phone", "101")
    heard("101", is_online=True)
    assert not is_registered(anna)


@pytest.mark.parametrize("lacks", ["session", "setting", "number"])
def test_an_agent_who_cannot_have_the_phone_is_refused(anna, switch, lacks):
    if lacks == "session":
        presence.log_out(anna, ACTOR)
    else:
        lacking: dict[str, Any] = {"setting": {"uses_browser_phone": False}, "number": {"number": ""}}
        Agent.objects.filter(pk=anna.pk).update(**lacking[lacks])
        anna.refresh_from_db()
    with pytest.raises(Conflict):
        browser_phones.open_phone(anna)
    assert switch.told == []


@pytest.mark.parametrize("ends", ["log_out", "setting"])
def test_the_listener_closes_phones_that_are_not_used(anna, switch, ends):
    browser_phones.open_phone(anna)
    browser_phones.close_unused(timezone.now())
    assert switch.told == [("add_phone", "101")]
    if ends == "log_out":
        presence.log_out(anna, ACTOR)
    else:
        Agent.objects.filter(pk=anna.pk).update(uses_browser_phone=False)
    browser_phones.close_unused(timezone.now())
    browser_phones.close_unused(timezone.now())
    assert switch.told[1:] == [("remove_phone", "101")]


def test_a_switch_that_has_restarted_learns_the_phones_again(anna, switch):
    browser_phones.open_phone(anna)
    heard("101", is_online=True)
    switch.listed_offline = ["101"]
    browser_phones.restore(switch)
    assert switch.told == [("add_phone", "101")] * 2
    assert not is_registered(anna)
    switch.listed_offline = []
    browser_phones.restore(switch)
    assert is_registered(anna)
    switch.refusals["add_phone"] = SwitchUnreachable("time-out")
    browser_phones.restore(switch)
    assert is_registered(anna)


def test_callers_and_campaigns_wait_for_the_registration(anna, queue):
    campaign = CampaignFactory()
    campaign.agents.add(anna)
    call_in()
    for is_online in (False, True):
        assert distribution.distribute(timezone.now()) == int(is_online)
        assert [agent.id for agent in agents_of(campaign.pk)] == [anna.pk] * is_online
        browser_phones.open_phone(anna)
        heard("101", is_online=True)
    assert Offer.objects.get().agent == anna


def test_callers_wait_for_the_microphone(anna, queue):
    phone = browser_phones.open_phone(anna)
    heard("101", is_online=True)
    call_in()
    for trouble in ("microphone", "denied", "insecure"):
        browser_phones.hear_of(anna, phone.token, trouble)
        assert distribution.distribute(timezone.now()) == 0
    browser_phones.hear_of(anna, phone.token, "")
    assert distribution.distribute(timezone.now()) == 1


def test_the_state_of_a_phone():
    now = timezone.now()
    away = now - timedelta(seconds=16)
    expected: list[tuple[str, dict[str, Any]]] = [
        ("ready", {"registered_at": now}),
        ("ready", {"registered_at": now, "seen_at": away}),
        ("unregistered", {}),
        ("microphone", {"trouble": "microphone", "registered_at": now}),
        ("insecure", {"trouble": "insecure", "closed_at": now}),
        ("away", {"seen_at": away}),
        ("away", {"seen_at": away, "trouble": "denied"}),
        ("closed", {"closed_at": now, "seen_at": away, "trouble": "denied"}),
    ]
    for state, values in expected:
        assert BrowserPhone(**{"seen_at": now, **values}).state_at(now) == state, values


def test_an_unknown_window_changes_nothing(anna):
    browser_phones.open_phone(anna)
    assert not browser_phones.hear_of(anna, uuid.uuid4(), "denied")
    assert BrowserPhone.objects.get().trouble == ""
