"""The agents, the queue and the campaign of the trial, made inside the service: `manage.py shell -c` runs `prepare`."""

from django.test import Client
from django.utils import timezone

from benchmarks.sound.trial import BROWSERS, QUEUE, SIPP_PHONES, SUPERVISOR, TALKER
from callcentre.models import User
from campaigns.models import Campaign, Record
from telephony.models import Agent, Queue, QueueMember

RECORDS = 600


def prepare() -> None:
    """Print a session of the back office for each agent with a phone in the browser."""
    queue = Queue.objects.create(name="Trial", number=QUEUE, ring_seconds=20, wrap_up_seconds=1)
    campaign = Campaign.objects.create(
        code="L0000", name="Trial", dialer="predictive", start_date=timezone.localdate(), wrap_up_seconds=1
    )
    for number in (*SIPP_PHONES, *BROWSERS, TALKER, SUPERVISOR):
        values = {"login": f"bench{number}", "name": "Bench", "number": str(number), "outbound_mode": True}
        agent = Agent.objects.create(**values, uses_browser_phone=number in BROWSERS)
        if number in (TALKER, SUPERVISOR):
            continue
        QueueMember.objects.create(queue=queue, agent=agent)
        campaign.agents.add(agent)
        if agent.uses_browser_phone:
            agent.user = User.objects.create(username=agent.login, is_staff=True)
            agent.save(update_fields=["user"])
            client = Client()
            client.force_login(agent.user)
            print(client.cookies["sessionid"].value)
    numbers = [f"+48{700_000_000 + n}" for n in range(RECORDS)]
    zone = {"zone": "Europe/Warsaw", "calling_code": 48}
    Record.objects.bulk_create(
        Record(campaign=campaign, phone_number=number, number=number, is_primary=True, system_status="TO_CALL", **zone)
        for number in numbers
    )
