"""A clone takes over each column of a campaign, of its fields, statuses, hours and rules, unless a list says not."""

from datetime import time
from typing import Any

import pytest
from django.db import models

from campaigns.models import Campaign, CampaignField, CampaignHours, RecordStatus, RetryRule
from campaigns.verbs.campaigns import _OWN, clone_campaign
from tests.campaigns.factories import CampaignFactory
from tests.conftest import ACTOR

pytestmark = pytest.mark.django_db


def values_of(row: models.Model, *but: str) -> dict[str, Any]:
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.primary_key and field.attname not in but
    }


def test_a_clone_has_each_column_of_its_source() -> None:
    made = CampaignFactory(
        wrap_up_seconds=17, order=3, parity=4, number_turn="rotate", holiday_country="PL", detects_machines=True
    )
    CampaignField.objects.create(campaign=made, name="city", order=7)
    CampaignHours.objects.create(campaign=made, weekday=3, begins_at=time(9), ends_at=time(17))
    status = RecordStatus.objects.create(
        campaign=made, name="Bad number", system_status="NO_CALL", order=9, is_success=True, is_wrong_number=True
    )
    RetryRule.objects.create(
        campaign=made, outcome="busy", status=None, delay_seconds=60, is_multiplied=True, most_attempts=4
    )
    source = Campaign.objects.get(pk=made.pk)

    clone = Campaign.objects.get(pk=clone_campaign(source, ACTOR, name="Clone").pk)

    assert values_of(clone, *_OWN) == values_of(source, *_OWN)
    assert {field.attname for field in Campaign._meta.concrete_fields} >= _OWN
    for model in (CampaignField, CampaignHours, RetryRule):
        [copied], [copy] = (model.objects.filter(campaign=campaign) for campaign in (source, clone))
        assert values_of(copy, "campaign_id") == values_of(copied, "campaign_id")
    copy_of_status = RecordStatus.objects.get(campaign=clone, name="Bad number")
    assert values_of(copy_of_status, "campaign_id") == values_of(status, "campaign_id")
