"""The campaigns part of the demonstration."""

from typing import Any

from django.conf import settings
from django.db import transaction

from callcentre.core.actor import SYSTEM
from callcentre.demonstration import add, data
from campaigns.models import Campaign, CampaignField, CampaignGroup
from campaigns.models.rules import CampaignFacts
from campaigns.verbs.campaigns import add_agents, create_campaign, create_group
from campaigns.verbs.new_records import NewRecord, add_records
from tickets.models import CustomerNumber

NAME = "Demonstration"
# Customers who are records of DEMO2.
CUSTOMERS = 10


@transaction.atomic
def seed() -> None:
    """Create DEMO1 and DEMO2, once, both paused, with agents 1 to 3.

    DEMO1 (CSV, progressive) has two fields and 200 records; DEMO2 (CRM, preview) has a record of each of ten customers.
    Both ignore hours on the simulated switch.
    """
    given = data("campaigns")
    group = CampaignGroup.objects.filter(name=NAME).order_by("pk").first() or create_group(SYSTEM, NAME)
    for values in given["campaigns"]:
        if Campaign.objects.filter(code=values["code"]).exists():
            continue
        campaign = create_campaign(
            SYSTEM,
            group_id=group.pk,
            # Short, so that the demonstration is soon over.
            wrap_up_seconds=5,
            ignores_hours=settings.SWITCH_BACKEND == "simulated",
            **values,
        )
        if not campaign.is_crm:
            add(CampaignField, given["fields"], campaign=campaign)
        add_agents(campaign, SYSTEM, ["agent1", "agent2", "agent3"])
        facts = CampaignFacts.read(campaign.code)
        assert facts is not None
        records = _customers() if campaign.is_crm else _records(given["first_names"], given["cities"])
        add_records(facts, SYSTEM, [NewRecord(record) for record in records])


def _records(first_names: list[str], cities: list[str]) -> list[dict[str, Any]]:
    """Return 200 records. The last two digits select an outcome of the simulated switch: they cover all outcomes."""
    return [
        {
            "phone_number": f"+48 22 555 {number:04}",
            "identifier": f"DEMO-{number:04}",
            "fields": {
                "first_name": first_names[number % len(first_names)],
                "city": cities[number % len(cities)],
            },
        }
        for number in range(1, 201)
    ]


def _customers() -> list[dict[str, Any]]:
    """Return the newest customers, because the numbers of the oldest end in the digits of calls that fail."""
    numbers = CustomerNumber.objects.order_by("-customer_id", "id").distinct("customer_id")
    return [{"phone_number": number} for number in numbers.values_list("phone_number", flat=True)[:CUSTOMERS]]
