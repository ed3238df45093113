"""Statuses that the dialler gives to records. Each fits the step, though the admin may change a status meanwhile."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.dialling import outcomes
from campaigns.models import Campaign, RecordStatus
from campaigns.verbs.results import give_result
from telephony.models import Leg
from tests.campaigns.dialling.calls import (
    dialling_campaign,
    hang_up,
    only_attempt,
    only_record,
    open_call,
    talking,
    tick,
)
from tests.conftest import ACTOR

pytestmark = pytest.mark.usefixtures("switch")


def settled_without_result(campaign: Campaign) -> None:
    """Let a person be called and answer, and the wrap-up end without a result."""
    hang_up(talking(campaign), Leg.Role.CUSTOMER)
    outcomes.settle_due(timezone.now() + timedelta(hours=1))


def of_completed(campaign: Campaign) -> RecordStatus:
    return campaign.statuses.create(name="Over", system_status="NO_CALL", order=1)


@pytest.mark.parametrize("system_status", ["CALL_NO_SOONER_THAN", "TO_CALL", "MY_RECORD", "IN_PROGRESS"])
def test_a_status_contacted_that_calls_again_is_not_given_without_a_result(system_status: str) -> None:
    campaign = dialling_campaign()
    over = of_completed(campaign)
    campaign.statuses.filter(name="Contacted").update(system_status=system_status)

    settled_without_result(campaign)

    record = only_record()
    assert (record.status, record.system_status, record.is_leased) == (over, "NO_CALL", False)
    assert only_attempt().settled_at


def test_contacted_is_given_before_other_statuses() -> None:
    campaign = dialling_campaign()
    of_completed(campaign)

    settled_without_result(campaign)

    assert only_record().status == campaign.statuses.get(name="Contacted")


def test_the_end_without_a_result_says_neither_success_nor_wrong_number() -> None:
    campaign = dialling_campaign()
    campaign.statuses.filter(name="Contacted").delete()
    campaign.statuses.filter(name="Do not call").update(is_success=True)
    over = campaign.statuses.create(name="Over", system_status="NO_CALL", order=1000)

    settled_without_result(campaign)

    assert only_record().status == over


def test_a_campaign_without_a_status_of_completed_records_gives_none() -> None:
    campaign = dialling_campaign()
    campaign.statuses.filter(system_status="NO_CALL").delete()

    settled_without_result(campaign)

    record = only_record()
    assert (record.status, record.system_status, record.is_leased) == (None, "NO_CALL", False)


def test_a_record_returns_to_its_system_status_though_its_status_has_another_now() -> None:
    campaign = dialling_campaign()
    earlier = campaign.statuses.create(name="New", system_status="TO_CALL")
    record = only_record()
    record.status = earlier
    record.save(update_fields=["status"])
    tick(campaign)
    # No record uses the status during the call, so that the admin may change it.
    RecordStatus.objects.filter(pk=earlier.pk).update(system_status="CALL_NO_SOONER_THAN")

    hang_up(open_call(), Leg.Role.AGENT, 19)

    record = only_record()
    assert only_attempt().outcome == "not_dialled"
    assert (record.system_status, record.is_leased) == ("TO_CALL", False)
    assert record.status
    assert record.status.system_status == "TO_CALL"


def test_a_kept_result_does_not_leave_the_record_in_progress() -> None:
    campaign = dialling_campaign()
    sold = campaign.statuses.create(name="Sold", system_status="NO_CALL")
    call = talking(campaign)
    give_result(call, ACTOR, status_id=sold.pk)
    RecordStatus.objects.filter(pk=sold.pk).update(system_status="IN_PROGRESS")

    hang_up(call, Leg.Role.CUSTOMER)

    assert only_record().system_status == "NO_CALL"


def test_a_result_that_was_given_before_a_call_that_did_not_happen_is_written() -> None:
    campaign = dialling_campaign()
    tick(campaign)
    call = open_call()
    status = campaign.statuses.get(name="Do not call")
    give_result(call, ACTOR, status_id=status.pk, last_note="A competitor.")

    hang_up(call, Leg.Role.AGENT, 19)

    record = only_record()
    assert (only_attempt().outcome, record.status, record.last_note) == ("not_dialled", status, "A competitor.")
