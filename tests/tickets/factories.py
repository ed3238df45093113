"""Factories of the tickets app: each makes a row that is right by itself; traits name states."""

import factory
from django.utils import timezone

from tickets.models import AcknowledgedAddress, Customer, CustomField, Ticket, TicketQueue, TicketStatus


class TicketQueueFactory(factory.django.DjangoModelFactory[TicketQueue]):
    class Meta:
        model = TicketQueue

    name = factory.Sequence(lambda n: f"Ticket queue {n}")


class CustomerFactory(factory.django.DjangoModelFactory[Customer]):
    class Meta:
        model = Customer

    surname = factory.Sequence(lambda n: f"Customer {n}")


class CustomFieldFactory(factory.django.DjangoModelFactory[CustomField]):
    class Meta:
        model = CustomField

    owner = CustomField.Owner.TICKET
    name = factory.Sequence(lambda n: f"field_{n}")


class TicketFactory(factory.django.DjangoModelFactory[Ticket]):
    class Meta:
        model = Ticket

    subject = factory.Sequence(lambda n: f"Matter {n}")
    source = "email"
    sender = "jan@client.example"
    queue = factory.SubFactory(TicketQueueFactory)
    status = factory.LazyFunction(lambda: TicketStatus.objects.get(kind="new"))


class AcknowledgedAddressFactory(factory.django.DjangoModelFactory[AcknowledgedAddress]):
    class Meta:
        model = AcknowledgedAddress

    address = factory.Sequence(lambda n: f"customer{n}@client.example")
    acknowledged_at = factory.LazyFunction(timezone.now)
