"""Factories of the tickets app: each makes a row that is right by itself; traits name states."""

from hashlib import sha256

import factory
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from tests.telephony.factories import AgentFactory, QueueFactory
from tickets.models import (
    Chat,
    Company,
    Customer,
    CustomField,
    Message,
    StoredFile,
    Ticket,
    TicketQueue,
    TicketStatus,
)


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


class CompanyFactory(factory.django.DjangoModelFactory[Company]):
    class Meta:
        model = Company

    name = factory.Sequence(lambda n: f"Company {n}")


class MessageFactory(factory.django.DjangoModelFactory[Message]):
    """A customer's; traits: an agent's reply, a comment."""

    class Meta:
        model = Message

    ticket = factory.SubFactory(TicketFactory)
    type = "MAIL"
    body = factory.Sequence(lambda n: f"Message {n}")
    body_type = "PLAIN"

    class Params:
        replied = factory.Trait(type="REPLY", agent=factory.SubFactory(AgentFactory))
        commented = factory.Trait(
            type="COMMENT", agent=factory.SubFactory(AgentFactory), body="", comment="A word among us"
        )


class StoredFileFactory(factory.django.DjangoModelFactory[StoredFile]):
    """A file whose content is in the storage; temporary, unless it is given a message."""

    class Meta:
        model = StoredFile

    class Params:
        content = b"abc"

    token = factory.Sequence(lambda n: f"token-{n}")
    filename = "a.pdf"
    content_type = "application/pdf"
    size = factory.LazyAttribute(lambda file: len(file.content))
    sha256 = factory.LazyAttribute(lambda file: sha256(file.content).hexdigest())
    path = factory.LazyAttribute(lambda file: default_storage.save(f"files/{file.token}", ContentFile(file.content)))


class ChatFactory(factory.django.DjangoModelFactory[Chat]):
    class Meta:
        model = Chat

    client_name = "Jan Kowal"
    queue = factory.SubFactory(QueueFactory)
