"""Mails of scheduled exports: claim a mail, send it, record the result."""

import logging
import smtplib
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db.models import F
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from callcentre.core.mail_refusals import is_final, said
from reports.models import Export, ExportMail

logger = logging.getLogger(__name__)

State = ExportMail.State

# Longer than any sending takes.
LEASE = timedelta(minutes=15)
# A mail server that is down in the night is tried until noon.
DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240, 480))
BATCH = 100
_TYPES = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def due_now() -> list[int]:
    """Return the mails that are due, the longest due first. Fail those that ended every worker."""
    now = timezone.now()
    ExportMail.objects.due(now).filter(attempt_count__gt=len(DELAYS)).update(
        state=State.FAILED, next_attempt_at=None, error="the worker died at every attempt"
    )
    return list(ExportMail.objects.due(now).order_by("next_attempt_at").values_list("pk", flat=True)[:BATCH])


def send(pk: int) -> None:
    """Send this mail, if it is due and no other worker has claimed it."""
    now = timezone.now()
    until = now + LEASE
    if (
        not ExportMail.objects.due(now)
        .filter(pk=pk)
        .update(next_attempt_at=until, attempt_count=F("attempt_count") + 1)
    ):
        return
    mail = ExportMail.objects.select_related("export__schedule").get(pk=pk)
    values: dict[str, Any]
    unexpected = None
    try:
        state = _send(mail)
    except FileNotFoundError:
        values = {"state": State.FAILED, "error": "the file is not there any more"}
    except (smtplib.SMTPException, OSError) as error:
        values = _after_refusal(mail, error)
    except Exception as error:  # noqa: BLE001  # logged below
        # A fault of our own code: another attempt would end the same way.
        values = {"state": State.FAILED, "error": said(error)}
        unexpected = error
    else:
        values = {"state": state, "sent_at": timezone.now(), "error": ""}
    if values["state"] == State.FAILED:
        details = {"export": mail.export_id, "mail": mail.pk, "error": values["error"]}
        logger.error("export not mailed", extra=details, exc_info=unexpected)
    ours = ExportMail.objects.filter(pk=pk, state=State.QUEUED, next_attempt_at=until)
    ours.update(**{"next_attempt_at": None, **values})


def _after_refusal(mail: ExportMail, error: Exception) -> dict[str, Any]:
    """Return the next attempt; or a failure, if another attempt would not help or there were enough of them."""
    if is_final(error) or mail.attempt_count > len(DELAYS):
        return {"state": State.FAILED, "error": said(error)}
    next_attempt_at: datetime = timezone.now() + DELAYS[mail.attempt_count - 1]
    return {"state": State.QUEUED, "next_attempt_at": next_attempt_at, "error": said(error)}


def _send(mail: ExportMail) -> str:
    backend = get_connection()
    with translation.override(mail.export.language):
        _message(mail, backend).send()
    # A back end that writes files says so: no mail was sent.
    return State.SENT if getattr(backend, "delivers", True) else State.WRITTEN


def _message(mail: ExportMail, backend: Any) -> EmailMessage:
    export = mail.export
    days = dict.fromkeys(f"{timezone.localtime(at):%Y-%m-%d}" for at in (export.begins_at, export.last_second))
    span = " – ".join(days)
    name = export.schedule.name if export.schedule else export.get_report_display()
    lines = [
        f"{name}: {span}",
        _("Rows: %s") % export.row_count,
        _("As of: %s") % (f"{timezone.localtime(export.read_at):%Y-%m-%d %H:%M:%S}" if export.read_at else "–"),
    ]
    is_attached = export.file_size <= settings.MAX_UPLOAD_MB * 1024 * 1024
    if not is_attached:
        lines.append(_("The file is too large for a mail: download it in the back office."))
    if settings.PUBLIC_URL:
        lines.append(settings.PUBLIC_URL + reverse("admin:reports_export_change", args=[export.pk]))
    message = EmailMessage(
        f"{name}: {span}",
        "\n".join(lines),
        settings.DEFAULT_FROM_EMAIL,
        [mail.recipient],
        headers={"Auto-Submitted": "auto-generated"},
        connection=backend,
    )
    if is_attached:
        message.attach(export.file_name, _content(export), _TYPES[export.format])
    return message


def _content(export: Export) -> bytes:
    if not export.file:
        raise FileNotFoundError
    with export.file.open("rb") as file:
        content: bytes = file.read()
    return content
