import factory
from django.utils import timezone

from callcentre.overview.models import Alarm, AlarmMail
from tests.model_factory import ModelFactory
from tests.telephony.factories import QueueFactory


class AlarmFactory(ModelFactory[Alarm]):
    name = factory.Sequence(lambda number: f"Alarm {number}")
    subject = Alarm.Subject.QUEUE_CALLERS
    limit = 2
    queue = factory.SubFactory(QueueFactory)

    class Params:
        raised = factory.Trait(raised_at=factory.LazyFunction(timezone.now), value=3)


class AlarmMailFactory(ModelFactory[AlarmMail]):
    alarm = factory.SubFactory(AlarmFactory)
    recipient = "boss@callcentre.example"
    is_raised = True
    at = factory.LazyFunction(timezone.now)
    value = 3.0
    limit = 2.0
