"""The telephony part of the demonstration."""

from telephony import demo_month, demo_topics, demo_transcriptions
from telephony.models import Agent, AgentGroup, Pause, Queue, QueueMember

AGENTS = [
    ("agent1", "Anna", "Nowak", "Sales"),
    ("agent2", "Piotr", "Kowalski", "Sales"),
    ("agent3", "Maria", "Wiśniewska", "Sales"),
    ("agent4", "Tomasz", "Zieliński", "Support"),
    ("agent5", "Ewa", "Dąbrowska", "Support"),
]
HOTLINE = "+48225550100"


def seed() -> None:
    """Add agents, pauses, the queue Hotline and a month of work. Existing rows stay as they are."""
    agents = _agents()
    pauses = [
        Pause.objects.get_or_create(name=name, defaults={"order": 10 * order})[0]
        for order, name in enumerate(("Break", "Lunch", "Training"), start=1)
    ]
    queue, is_new = Queue.objects.get_or_create(name="Hotline", defaults={"number": HOTLINE})
    if is_new:
        QueueMember.objects.bulk_create(QueueMember(queue=queue, agent=agent) for agent in agents)
    demo_month.seed(queue, agents, pauses)
    demo_topics.seed(queue)
    demo_transcriptions.seed(queue)


def _agents() -> list[Agent]:
    """Return five agents with the numbers 101 to 105, in two groups."""
    groups = {name: AgentGroup.objects.get_or_create(name=name)[0] for name in ("Sales", "Support")}
    return [
        Agent.objects.get_or_create(
            login=login,
            defaults={
                "name": name,
                "surname": surname,
                "email": f"{login}@callcentre.example",
                "number": str(100 + position),
                "outbound_mode": group == "Sales",
                "group": groups[group],
            },
        )[0]
        for position, (login, name, surname, group) in enumerate(AGENTS, start=1)
    ]
