"""Failures of one campaign, or of one attempt, which the others must not feel."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.dialling import choice, outcomes
from campaigns.dialling.campaign_tick import CampaignTick
from campaigns.dialling.dialler import Dialler
from campaigns.models import Attempt, Campaign, Record
from telephony.models import Connection, Leg
from tests.campaigns.dialling.calls import answered_call, dialling_campaign, hang_up, tick
from tests.telephony.doubles import RecordingSwitch


def test_an_attempt_that_cannot_be_settled_delays_no_other(
    switch: RecordingSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick(dialling_campaign(agents=2, records=2))
    for call in Connection.objects.open():
        answered_call(call)
        hang_up(call, Leg.Role.CUSTOMER)
    broken = Attempt.objects.earliest("settle_at")
    lock_record = outcomes.lock_record

    def fail_for_one(attempt: Attempt) -> Record | None:
        if attempt.pk == broken.pk:
            raise RuntimeError("an unexpected status")
        return lock_record(attempt)

    monkeypatch.setattr(outcomes, "lock_record", fail_for_one)
    over = timezone.now() + timedelta(minutes=5)

    outcomes.settle_due(over)

    assert Attempt.objects.exclude(pk=broken.pk).get().settled_at
    broken.refresh_from_db()
    assert (broken.settled_at, broken.settle_at) == (None, over + outcomes.SETTLED_AGAIN)
    monkeypatch.undo()
    assert outcomes.settle_due(over + outcomes.SETTLED_AGAIN) == 1
    assert not Record.objects.filter(system_status="IN_PROGRESS").exists()


@pytest.mark.parametrize("name", ["release_held", "run"])
def test_a_failure_stops_no_other_campaign(switch: RecordingSwitch, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    broken, sound = dialling_campaign(agents=0), dialling_campaign()
    run = CampaignTick.run

    def fail(*args: Any) -> None:
        raise ValueError

    def fail_for_one(self: CampaignTick, campaign: Campaign, *args: Any) -> None:
        if campaign.pk == broken.pk:
            raise ValueError
        run(self, campaign, *args)

    if name == "run":
        monkeypatch.setattr(CampaignTick, "run", fail_for_one)
    else:
        fail.__qualname__ = name
        monkeypatch.setattr(choice, name, fail)
    dialler = Dialler()
    try:
        dialler.tick()
    finally:
        dialler.disown()

    assert Attempt.objects.get().campaign == sound
