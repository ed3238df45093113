"""The mails of alarms."""

from operator import attrgetter

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from callcentre.core.mail_outbox import Letter, Outbox
from callcentre.core.times import second
from callcentre.overview.models import Alarm, AlarmMail


def _letters(mail: AlarmMail) -> list[Letter]:
    alarm = mail.alarm
    title = _("Alarm: %(name)s") if mail.is_raised else _("Alarm is over: %(name)s")
    lines = [
        f"{alarm.place}: {Alarm.Subject(alarm.subject).sentence(mail.limit)}",
        *([_("Value: %(value)s") % {"value": f"{mail.value:g}"}] if mail.value is not None else []),
        _("Time: %(time)s") % {"time": second(mail.at)},
    ]
    if settings.PUBLIC_URL:
        lines.append(settings.PUBLIC_URL + reverse("admin:index"))
    return [Letter(mail.recipient, title % {"name": alarm.name}, lines)]


outbox = Outbox(
    AlarmMail,
    compose=_letters,
    language=attrgetter("alarm.language"),
    written_at=attrgetter("at"),
    related=["alarm__queue", "alarm__campaign"],
)
