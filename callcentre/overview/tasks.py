from celery import shared_task
from django.utils import timezone

from callcentre.overview.models import AlarmMail
from callcentre.overview.watch import outbox, set_alarm_of_trunk, watch


@shared_task(name="overview.watch_alarms")
def watch_alarms() -> None:
    set_alarm_of_trunk()
    watch()


@shared_task(name="overview.mail_alarm")
def mail_alarm(pk: int) -> None:
    """Send the change of an alarm to one of its recipients."""
    outbox.send(pk)


@shared_task(name="overview.prune_mails")
def prune_mails() -> None:
    """Delete the mails of changes long ago."""
    AlarmMail.objects.outdated(timezone.now()).delete()
