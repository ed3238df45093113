"""Exports of the report: built of all rows, read of one instant, in portions; and mailed, if a schedule says so."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import IO, Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.core.errors import Invalid
from callcentre.core.exporting.builds import Builder, Progress, Refused, written_once
from callcentre.core.exporting.formats import writer_of
from callcentre.core.mail_outbox import Letter, Outbox, Unsendable
from callcentre.core.scope import within_scope
from callcentre.models import User
from reports import report
from reports.catalogue import REPORTS
from reports.description import Report
from reports.models import Export, ExportMail
from reports.parameters import queues_within, refuse_gone, subjects_of
from reports.periods import Aggregation
from reports.report import Question
from reports.verbs.exports import finish_export
from telephony.models import Agent

# The most rows of a portion.
PORTION = 2_000


def portions(described: Report, asked: Question) -> Iterator[tuple[Sequence[Any], float]]:
    """Yield all rows in portions, and with each portion the share of the whole that is done with it.

    The share grows, and is 1 with the last portion. Rows come by agents or queues and by periods, so the last row of a
    portion tells how far it is. How many rows are to come is not known before all of them are read.
    """
    agents = [*asked.subjects.items()]
    together = max(PORTION // asked.aggregation.periods_in(asked.begin, asked.end), 1)
    share_until = _share_until(asked)
    for start in range(0, len(agents), together):
        part = dict(agents[start : start + together])
        offset = 0
        while len(rows := described.answer(replace(asked, subjects=part), PORTION, offset).rows) == PORTION:
            offset += PORTION
            passed = [*part].index(rows[-1].subject_id) + share_until[rows[-1].period]
            yield rows, (start + passed) / len(agents)
        yield rows, (start + len(part)) / len(agents)


def _share_until(asked: Question) -> dict[str, float]:
    """Return the share of the span that is over with each period, by the label of the period."""
    labels = [f"{hour:02}" for hour in range(24)]
    if asked.aggregation is not Aggregation.HOUR_OF_DAY:
        labels = [asked.aggregation.label(border) for border in asked.aggregation.borders(asked.begin, asked.end)]
    return {label: (place + 1) / len(labels) for place, label in enumerate(labels)}


def build_next() -> bool:
    """Build the next export. Return False if there is none, or other workers build."""
    too_long = _("It would have taken longer than an hour. Ask for a shorter span, or for fewer agents.")
    return Builder(Export, _write, finish_export, too_long).build_next()


def _write(export: Export, output: IO[bytes]) -> int:
    """Write all rows, read of one instant. Return their number."""
    if not _may_be_seen(export):
        raise Refused(_("The person who asked may not see this report any more."))
    return written_once(export, output, lambda file, as_of: _write_rows(export, file, as_of))


def _write_rows(export: Export, output: IO[bytes], as_of: datetime) -> int:
    rows = 0
    with report.snapshot():
        question = question_of(export).at(as_of)
        progress = Progress(export, question.now)
        described = REPORTS[export.report]
        try:
            refuse_gone(question, described.ledgers)
        except Invalid as invalid:
            raise Refused(" ".join(invalid.messages)) from invalid
        columns = described.columns_of(export.columns)
        # The names of the row and its period stay.
        writer = writer_of(export.format, output, columns, sheet=_now("Report"), frozen=len(described.fixed))
        for lines, share in portions(described, question):
            writer.write(lines)
            rows += len(lines)
            progress.tell(share, rows)
        if described.subjects and rows:
            writer.write_total(described.answer(question, 0, 0).total)
        writer.close()
    return rows


def _may_be_seen(export: Export) -> bool:
    """Return whether the person for whom it is built may see the report; the service itself may.

    The person of a schedule is the one who saved it last. Inactive people count like active ones: a schedule goes on
    when its author has left, and ends when the author's rights are taken away.
    """
    described, person_id = REPORTS[export.report], export.actor_id if export.actor_kind == "user" else None
    if export.schedule:
        person_id = export.schedule.user_id
    elif described.subjects is None:  # asked for just now
        return True
    if person_id is None:
        return True
    person = User.objects.filter(pk=person_id).first()
    if person is None:
        return False
    person.is_active = True
    return person.has_perm("reports.view_export") and described.is_open_to(person)


def question_of(export: Export) -> Question:
    named = REPORTS[export.report].subjects
    return Question(
        subjects=subjects_of(named, export.scope, getattr(export, named.field)) if named else _agents_of(export),
        begin=export.begins_at,
        end=export.ends_at,
        aggregation=Aggregation(export.aggregation),
        now=timezone.now().replace(microsecond=0),
        threshold=export.threshold,
        queues=None if named else queues_within(export.scope, export.queue_ids),
        within=export.answered_within,
    )


def _agents_of(export: Export) -> dict[int, dict[str, str]]:
    """Return the agents that were asked for, by login: with ids and of groups, or all; within the scope."""
    ids, group_ids = export.agent_ids, export.agent_group_ids
    agents = within_scope(Agent.objects.order_by("login"), export)
    if ids or group_ids:
        agents = agents.filter(pk__in=ids) | agents.filter(group__in=group_ids)
    rows = agents.values_list("pk", "login", "name", "surname")
    return {pk: {"login": login, "name": name, "surname": surname} for pk, login, name, surname in rows}


def _letters(mail: ExportMail) -> list[Letter]:
    export = mail.export
    days = dict.fromkeys(f"{timezone.localtime(at):%Y-%m-%d}" for at in (export.begins_at, export.last_second))
    span = " – ".join(days)
    name = export.schedule.name if export.schedule else export.get_report_display()
    lines = [
        f"{name}: {span}",
        _now("Rows: %s") % export.row_count,
        _now("As of: %s") % (f"{timezone.localtime(export.read_at):%Y-%m-%d %H:%M:%S}" if export.read_at else "–"),
    ]
    is_attached = export.file_size <= settings.MAX_UPLOAD_MB * 1024 * 1024
    if not is_attached:
        lines.append(_now("The file is too large for a mail: download it in the back office."))
    if settings.PUBLIC_URL:
        lines.append(settings.PUBLIC_URL + reverse("admin:reports_export_change", args=[export.pk]))
    content_type = export.content_type.partition(";")[0]
    files = [(export.file_name, _content(export), content_type)] if is_attached else []
    return [Letter(mail.recipient, f"{name}: {span}", lines, files)]


def _content(export: Export) -> bytes:
    try:
        if not export.file:
            raise FileNotFoundError
        with export.file.open("rb") as file:
            return bytes(file.read())
    except FileNotFoundError as error:
        raise Unsendable("the file is not there any more") from error


outbox = Outbox(
    ExportMail,
    compose=_letters,
    language=attrgetter("export.language"),
    written_at=attrgetter("export.created_at"),
    related=["export__schedule"],
)
