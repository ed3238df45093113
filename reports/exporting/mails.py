"""Mails of scheduled exports."""

from operator import attrgetter

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from callcentre.core.mail_outbox import Letter, Outbox, Unsendable
from reports.models import Export, ExportMail

_TYPES = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def _letters(mail: ExportMail) -> list[Letter]:
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
    files = [(export.file_name, _content(export), _TYPES[export.format])] if is_attached else []
    return [Letter(mail.recipient, f"{name}: {span}", lines, files)]


def _content(export: Export) -> bytes:
    try:
        if not export.file:
            raise FileNotFoundError
        with export.file.open("rb") as file:
            content: bytes = file.read()
            return content
    except FileNotFoundError as error:
        raise Unsendable("the file is not there any more") from error


outbox = Outbox(
    ExportMail,
    compose=_letters,
    language=attrgetter("export.language"),
    written_at=attrgetter("export.created_at"),
    related=["export__schedule"],
)
