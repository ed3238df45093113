"""The campaigns part of the demonstration."""

from django.conf import settings
from django.db import transaction

from callcentre.core.actor import SYSTEM
from campaigns.models import Campaign, CampaignField, CampaignGroup
from campaigns.models.rules import CampaignFacts
from campaigns.verbs.campaigns import add_agents, create_campaign, create_group
from campaigns.verbs.new_records import NewRecord, add_records
from tickets.models import CustomerNumber

FIRST_NAMES = ["Adam", "Barbara", "Cezary", "Danuta", "Edward", "Franciszka", "Grzegorz", "Halina", "Igor", "Joanna"]
# Customers who are records of DEMO2.
CUSTOMERS = 10
AGENTS = ["agent1", "agent2", "agent3"]
CITIES = ["Warszawa", "Kraków", "Łódź", "Wrocław", "Poznań", "Gdańsk", "Szczecin"]


@transaction.atomic
def seed() -> None:
    """Create DEMO1 and DEMO2, once, both paused, with agents 1 to 3.

    DEMO1 (CSV, progressive) has two fields and 200 records; DEMO2 (CRM, preview) has a record of each of ten customers.
    Both ignore hours on the simulated switch.
    """
    ignores_hours = settings.SWITCH_BACKEND == "simulated"
    group = CampaignGroup.objects.filter(name="Demonstration").order_by("pk").first() or create_group(
        SYSTEM, "Demonstration"
    )
    if not Campaign.objects.filter(code="DEMO1").exists():
        campaign = create_campaign(
            SYSTEM,
            code="DEMO1",
            name="Demonstration: file",
            dialer=Campaign.Dialer.PROGRESSIVE,
            is_crm=False,
            group_id=group.pk,
            caller_id="+48225550100",
            # Short, so that the demonstration is soon over.
            wrap_up_seconds=5,
            ignores_hours=ignores_hours,
        )
        for order, name in enumerate(("first_name", "city"), start=1):
            CampaignField.objects.create(campaign=campaign, name=name, order=10 * order)
        add_agents(campaign, SYSTEM, AGENTS)
        facts = CampaignFacts.read("DEMO1")
        assert facts is not None
        # The last two digits select an outcome of the simulated switch: the numbers cover all outcomes.
        records = [
            NewRecord(
                {
                    "phone_number": f"+48 22 555 {number:04}",
                    "identifier": f"DEMO-{number:04}",
                    "fields": {
                        "first_name": FIRST_NAMES[number % len(FIRST_NAMES)],
                        "city": CITIES[number % len(CITIES)],
                    },
                }
            )
            for number in range(1, 201)
        ]
        add_records(facts, SYSTEM, records)
    if not Campaign.objects.filter(code="DEMO2").exists():
        campaign = create_campaign(
            SYSTEM,
            code="DEMO2",
            name="Demonstration: customers",
            dialer=Campaign.Dialer.PREVIEW,
            is_crm=True,
            # Its agents are those of DEMO1, which comes first.
            order=60,
            group_id=group.pk,
            preview_timeout=60,
            wrap_up_seconds=5,
            ignores_hours=ignores_hours,
        )
        add_agents(campaign, SYSTEM, AGENTS)
        facts = CampaignFacts.read("DEMO2")
        assert facts is not None
        # The newest, because the numbers of the oldest end in the digits of calls that fail.
        numbers = CustomerNumber.objects.order_by("-customer_id", "id").distinct("customer_id")
        shown = numbers.values_list("phone_number", flat=True)[:CUSTOMERS]
        add_records(facts, SYSTEM, [NewRecord({"phone_number": number}) for number in shown])
