"""Agents and their groups as tests want them; a trait names a state."""

import factory

from telephony.models import Agent, AgentGroup


class AgentGroupFactory(factory.django.DjangoModelFactory[AgentGroup]):
    class Meta:
        model = AgentGroup

    name = factory.Sequence(lambda n: f"Group {n}")


class AgentFactory(factory.django.DjangoModelFactory[Agent]):
    class Meta:
        model = Agent

    login = factory.Sequence(lambda n: f"agent-{n}")
    name = "Anna"
    surname = "Nowak"

    class Params:
        grouped = factory.Trait(group=factory.SubFactory(AgentGroupFactory))
        with_phone = factory.Trait(number=factory.Sequence(lambda n: str(1000 + n)))
        left = factory.Trait(is_active=False)
