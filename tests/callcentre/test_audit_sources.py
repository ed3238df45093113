"""Each change has one source in the audit log: a trigger or a history (docs/history.md)."""

import pytest

from callcentre.core.audit import AUDITED, AuditLog, histories, owner_of
from campaigns.models import Campaign
from campaigns.verbs.dialling import pause_dialling, start_dialling, stop_dialling
from tests.campaigns.factories import CampaignFactory
from tests.conftest import ACTOR

pytestmark = pytest.mark.django_db


def test_a_trigger_leaves_out_what_a_history_tells():
    """A table has a trigger or a history. Of campaigns, the history has the switches of the dialling."""
    owners = {owner_of(history).related_model for history in histories()}

    assert {owner for owner in owners if owner._meta.db_table in AUDITED} == {Campaign}
    assert AUDITED[Campaign._meta.db_table].ignored == ("is_dialling",)


@pytest.mark.parametrize("switch", [start_dialling, pause_dialling, stop_dialling])
def test_a_switch_of_dialling_is_one_entry(switch):
    campaign = CampaignFactory(is_dialling=switch is not start_dialling)
    before = AuditLog.objects.count()

    switch(campaign, ACTOR)

    [entry] = AuditLog.objects.order_by("-at", "-id")[: AuditLog.objects.count() - before]
    assert (entry.action, entry.actor_name) == (switch.__name__.removesuffix("_dialling"), ACTOR.name)
