"""The telephony part of the demonstration."""

from telephony.models import Agent, AgentGroup

AGENTS = [
    ("agent1", "Anna", "Nowak", "Sales"),
    ("agent2", "Piotr", "Kowalski", "Sales"),
    ("agent3", "Maria", "Wiśniewska", "Sales"),
    ("agent4", "Tomasz", "Zieliński", "Support"),
    ("agent5", "Ewa", "Dąbrowska", "Support"),
]


def seed() -> None:
    """Five agents with the numbers 101 to 105 in two groups; what exists is left alone."""
    groups = {name: AgentGroup.objects.get_or_create(name=name)[0] for name in ("Sales", "Support")}
    for position, (login, name, surname, group) in enumerate(AGENTS, start=1):
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
        )
