"""Campaigns that share agents belong to one dialler process, so that it sees all calls for these agents."""

from contextlib import ExitStack

import pytest

from campaigns.dialling.dialler import Dialler
from campaigns.dialling.ownership import Ownership, groups_of
from campaigns.models import Attempt, Campaign
from tests.campaigns.dialling.calls import dialling_campaign
from tests.campaigns.factories import CampaignFactory
from tests.processes import wait_for
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def two():
    with ExitStack() as context:
        diallers = Ownership(), Ownership()
        for one in diallers:
            context.callback(one.close)
        yield diallers


def test_campaigns_that_share_an_agent_are_a_group_also_by_way_of_others():
    first, second, third, alone = sorted(CampaignFactory.create_batch(4), key=lambda campaign: campaign.pk)
    one, other = AgentFactory.create_batch(2)
    one.campaigns.set([second, third])
    other.campaigns.set([first, third])
    alone.agents.add(AgentFactory())

    groups = groups_of([campaign.pk for campaign in (third, alone, second, first)])

    assert groups == {first.pk: first.pk, second.pk: first.pk, third.pk: first.pk, alone.pk: alone.pk}


def test_the_owner_of_a_group_gets_all_its_campaigns(two):
    first, second = two
    first.hold({1: 1})
    for one in (second, first):
        one.hold({1: 1, 2: 1, 3: 3})

    assert (first.campaigns, second.campaigns) == ({1, 2}, {3})


def test_groups_that_become_one_go_to_one_owner(two):
    first, second = two
    first.hold({1: 1})
    second.hold({1: 1, 2: 2})
    together = {1: 1, 2: 1}

    # The second campaign has no owner for a moment, and never two.
    first.hold(together)
    assert (first.campaigns, second.campaigns) == ({1}, {2})
    second.hold(together)
    assert second.campaigns == set()
    first.hold(together)

    assert first.campaigns == {1, 2}


def test_a_group_whose_first_campaign_is_paused_goes_on(two):
    first, second = two
    first.hold({1: 1, 2: 1})
    second.hold({1: 1, 2: 1})

    second.hold({2: 2})
    first.hold({2: 2})
    second.hold({2: 2})

    assert (first.campaigns, second.campaigns) == (set(), {2})


def test_the_campaigns_of_a_group_are_free_when_its_owner_dies(two):
    first, second = two
    first.hold({1: 1, 2: 1})
    first.close()

    def is_taken_over():
        second.hold({1: 1, 2: 1})
        return second.campaigns == {1, 2}

    wait_for(is_taken_over, "the other dialler has both")


def test_two_diallers_never_call_at_once_for_shared_agents(switch):
    first = dialling_campaign(records=1)
    second: Campaign = dialling_campaign(agents=0, records=5)
    second.agents.set(first.agents.all())
    Campaign.objects.filter(pk=second.pk).update(is_dialling=False)
    one, other = Dialler(), Dialler()
    try:
        one.tick()
        Campaign.objects.filter(pk=second.pk).update(is_dialling=True)
        for _ in range(2):
            other.tick()
        assert list(Attempt.objects.values_list("campaign_code", flat=True)) == [first.code]
        assert other.campaigns == set()
        one.tick()
        assert one.campaigns == {first.pk, second.pk}
    finally:
        for dialler in (one, other):
            dialler.disown()
