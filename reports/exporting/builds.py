"""Building exports of the report: all rows, read of one instant, in portions."""

from typing import IO

from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.core.errors import Invalid
from callcentre.core.exporting.builds import Builder, Progress, Refused
from callcentre.core.exporting.formats import writer_of
from callcentre.core.scope import within_scope
from callcentre.models import User
from reports import report
from reports.catalogue import REPORTS
from reports.exporting.portions import portions
from reports.models import Export
from reports.parameters import queues_within, refuse_gone, subjects_of
from reports.periods import Aggregation
from reports.report import Question
from reports.verbs.exports import finish_export
from telephony.models import Agent


def build_next() -> bool:
    """Build the next export. Return False if there is none, or other workers build."""
    too_long = _("It would have taken longer than an hour. Ask for a shorter span, or for fewer agents.")
    return Builder(Export, _write, finish_export, too_long).build_next()


def _write(export: Export, output: IO[bytes]) -> int:
    """Write all rows, read of one instant. Return their number."""
    rows = 0
    if not _may_be_seen(export):
        raise Refused(_("The person who asked may not see this report any more."))
    with report.snapshot():
        question = question_of(export)
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
