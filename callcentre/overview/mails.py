"""The mails of alarms: claim a mail, send it, record the result."""

import logging
import smtplib
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db.models import F
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from callcentre.core.mail_refusals import is_final, said
from callcentre.core.times import second
from callcentre.overview.models import Alarm, AlarmMail

logger = logging.getLogger(__name__)

State = AlarmMail.State

# Longer than any sending takes.
LEASE = timedelta(minutes=5)
# After that the mail would be no help any more.
DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 15, 30))
BATCH = 100


def due_now() -> list[int]:
    """Return the mails that are due, the longest due first. Fail those that ended every worker."""
    now = timezone.now()
    AlarmMail.objects.due(now).filter(attempt_count__gt=len(DELAYS)).update(
        state=State.FAILED, next_attempt_at=None, error="the worker died at every attempt"
    )
    return list(AlarmMail.objects.due(now).order_by("next_attempt_at").values_list("pk", flat=True)[:BATCH])


def send(pk: int) -> None:
    """Send this mail, if it is due and no other worker has claimed it."""
    now = timezone.now()
    until = now + LEASE
    due = AlarmMail.objects.due(now).filter(pk=pk)
    if not due.update(next_attempt_at=until, attempt_count=F("attempt_count") + 1):
        return
    mail = AlarmMail.objects.select_related("alarm__queue", "alarm__campaign").get(pk=pk)
    values: dict[str, Any]
    try:
        state = _send(mail)
    except (smtplib.SMTPException, OSError) as error:
        values = _after_refusal(mail, error)
    else:
        values = {"state": state, "next_attempt_at": None, "sent_at": timezone.now(), "error": ""}
    if values["state"] == State.FAILED:
        logger.error("alarm not mailed", extra={"alarm": mail.alarm_id, "mail": pk, "error": values["error"]})
    AlarmMail.objects.filter(pk=pk, state=State.QUEUED, next_attempt_at=until).update(**values)


def _after_refusal(mail: AlarmMail, error: Exception) -> dict[str, Any]:
    """Return the next attempt; or a failure, if another attempt would not help or there were enough of them."""
    if is_final(error) or mail.attempt_count > len(DELAYS):
        return {"state": State.FAILED, "next_attempt_at": None, "error": said(error)}
    return {
        "next_attempt_at": timezone.now() + DELAYS[mail.attempt_count - 1],
        "state": State.QUEUED,
        "error": said(error),
    }


def _send(mail: AlarmMail) -> str:
    backend = get_connection()
    with translation.override(mail.alarm.language):
        _message(mail, backend).send()
    # A back end that writes files says so: no mail was sent.
    return State.SENT if getattr(backend, "delivers", True) else State.WRITTEN


def _message(mail: AlarmMail, backend: Any) -> EmailMessage:
    alarm = mail.alarm
    title = _("Alarm: %(name)s") if mail.is_raised else _("Alarm is over: %(name)s")
    lines = [
        f"{alarm.place}: {Alarm.Subject(alarm.subject).sentence(mail.limit)}",
        *([_("Value: %(value)s") % {"value": f"{mail.value:g}"}] if mail.value is not None else []),
        _("Time: %(time)s") % {"time": second(mail.at)},
    ]
    if settings.PUBLIC_URL:
        lines.append(settings.PUBLIC_URL + reverse("admin:index"))
    return EmailMessage(
        title % {"name": alarm.name},
        "\n".join(lines),
        settings.DEFAULT_FROM_EMAIL,
        [mail.recipient],
        headers={"Auto-Submitted": "auto-generated"},
        connection=backend,
    )
