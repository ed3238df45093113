"""Webhooks and what was sent to them as tests want them; a trait names a state."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import factory
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from tests.model_factory import ModelFactory
from webhooks.event_types import EventType
from webhooks.models import Attempt, Delivery, Event, Resend, Webhook, WebhookChange
from webhooks.verbs.webhooks import create_webhook


class WebhookFactory(ModelFactory[Webhook]):
    # A name for documentation that no name server resolves, so nothing is sent.
    subscription_url = factory.Sequence(lambda n: f"https://crm{n}.client.invalid/hook")
    actions = factory.LazyFunction(lambda: [EventType.TICKET_CREATED.value])

    class Params:
        failing = factory.Trait(
            failing_since=factory.LazyFunction(lambda: timezone.now() - timedelta(hours=3)), failures_in_a_row=4
        )
        paused = factory.Trait(
            failing=True, open_until=factory.LazyFunction(lambda: timezone.now() + timedelta(minutes=4))
        )
        healthy = factory.Trait(last_success_at=factory.LazyFunction(timezone.now))
        given_up = factory.Trait(
            is_active=False,
            disabled_because=Webhook.Reason.FAILING,
            disabled_at=factory.LazyFunction(timezone.now),
            failing_since=factory.LazyFunction(lambda: timezone.now() - timedelta(days=6)),
        )

    @classmethod
    def _create(cls, model_class: type[Webhook], *args: Any, **kwargs: Any) -> Webhook:
        return create_webhook(SYSTEM, **kwargs)


class EventFactory(ModelFactory[Event]):
    event_id = factory.LazyFunction(uuid4)
    action = EventType.TICKET_CREATED
    subject = factory.Sequence(lambda n: f"ticket:{n}")
    payload = factory.LazyFunction(lambda: dict(EventType.TICKET_CREATED.example))


class DeliveryFactory(ModelFactory[Delivery]):
    event = factory.SubFactory(EventFactory)
    webhook = factory.SubFactory(WebhookFactory)
    next_attempt_at = factory.LazyFunction(timezone.now)

    class Params:
        failed = factory.Trait(
            state="failed", next_attempt_at=None, attempt_count=8, finished_at=factory.LazyFunction(timezone.now)
        )
        succeeded = factory.Trait(
            state="succeeded", next_attempt_at=None, attempt_count=1, finished_at=factory.LazyFunction(timezone.now)
        )
        put_off = factory.Trait(
            attempt_count=3, next_attempt_at=factory.LazyFunction(lambda: timezone.now() + timedelta(minutes=30))
        )


class AttemptFactory(ModelFactory[Attempt]):
    delivery = factory.SubFactory(DeliveryFactory, succeeded=True)
    webhook = factory.SelfAttribute("delivery.webhook")
    started_at = factory.LazyFunction(timezone.now)
    milliseconds = 12
    status = 200

    class Params:
        failed = factory.Trait(delivery=factory.SubFactory(DeliveryFactory, put_off=True), status=500, answer="Oops")


class ResendFactory(ModelFactory[Resend]):
    webhook = factory.SubFactory(WebhookFactory)
    since = factory.LazyFunction(lambda: timezone.now() - timedelta(days=1))
    leased_until = factory.LazyFunction(lambda: timezone.now() + timedelta(seconds=30))
    actor_kind = "user"
    actor_name = "tester"


class WebhookChangeFactory(ModelFactory[WebhookChange]):
    webhook = factory.SubFactory(WebhookFactory)
    action = "enable"
    actor_kind = "user"
    actor_name = "tester"
