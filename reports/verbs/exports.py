"""Exports of a report: asked for, repeated, finished; and scheduled reports, which ask for them when they are due."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import change_columns, differences, in_history, store
from callcentre.core.due_work import Claim
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Invalid
from callcentre.core.scope import ALL, Scope
from callcentre.models import User
from reports.models import Export, ExportMail, Schedule


def ask_export(actor: Actor, begin: datetime, end: datetime, scope: Scope = ALL, **values: Any) -> Export:
    """Ask a worker for an export within the scope; reports.parameters has checked the values."""
    with transaction.atomic():
        if "schedule" not in values:
            Export.objects.check_may_ask(actor)
        values |= scope.by_column
        export: Export = Export.objects.ask(actor, begins_at=begin, ends_at=end, **values)
    return export


def repeat_export(export: Export, actor: Actor) -> Export:
    """Ask for another export of the same question."""
    return ask_export(actor, export.begins_at, export.ends_at, export.scope, **export.terms)


def finish_export(claim: Claim[Export], **values: Any) -> None:
    """Name the file, and enqueue its mails. Raises NotOurs if another worker has taken over."""
    export = claim.row
    with transaction.atomic():
        claim.finish(**values)
        if export.schedule:
            mails = [ExportMail(export=export, recipient=one) for one in dict.fromkeys(export.schedule.recipients)]
            for mail in ExportMail.objects.bulk_create(mails):
                enqueue("reports.mail_export", mail.pk)


def resend_mail(mail: ExportMail, actor: Actor) -> None:
    """Try a failed mail again, from the first attempt. Raises Conflict if it has not failed."""
    failed = ExportMail.objects.filter(pk=mail.pk, state=ExportMail.State.FAILED)
    with transaction.atomic():
        if not failed.update(state=ExportMail.State.QUEUED, attempt_count=0, next_attempt_at=timezone.now(), error=""):
            raise Conflict(ErrorCode.NOT_RESENT)
        to = {"recipient": [None, mail.recipient]}
        record(actor, AuditAction.RESEND_REPORT, mail.export, name=mail.export.file_name, changes=to)
        enqueue("reports.mail_export", mail.pk)


def create_schedule(actor: Actor, **values: Any) -> Schedule:
    """Create a schedule, due for the first time at its next hour. Raises Invalid."""
    schedule = Schedule(user=_user_of(actor), **values)
    _check(schedule)
    schedule.next_due_at = schedule.due_after(timezone.now())
    with transaction.atomic():
        schedule.save(force_insert=True)
        _log(schedule, actor, "create", {name: [None, in_history(value)] for name, value in values.items()})
    return schedule


def edit_schedule(schedule: Schedule, actor: Actor, **values: Any) -> None:
    """Change the schedule. A turn that was due and not run is not made up for. Raises Invalid."""
    with transaction.atomic():
        locked = Schedule.objects.select_for_update(no_key=True).get(pk=schedule.pk)
        changes = differences(locked, values)
        for name, value in values.items():
            setattr(schedule, name, value)
        _check(schedule)
        if changes:
            schedule.next_due_at = schedule.due_after(timezone.now())
            schedule.user = _user_of(actor)
            schedule.save(update_fields=[*changes, "next_due_at", "user", "updated_at"])
            _log(schedule, actor, "edit", changes)


def run_schedule(schedule: Schedule, now: datetime) -> Export | None:
    """Ask for the export of the last turn that has come, if it is due. Concurrent workers ask once."""
    due = Schedule.objects.due(now).select_for_update(skip_locked=True, no_key=True)
    with transaction.atomic():
        ours = due.filter(pk=schedule.pk).first()
        if ours is None:
            return None
        due_at = ours.due_before(now)
        store(ours, next_due_at=ours.due_after(now))
        if ours.exports.filter(due_at=due_at).exists():
            return None
        actor = Actor("system", None, ours.name)
        return ask_export(actor, *ours.span_of(due_at), ours.scope, schedule=ours, due_at=due_at, **ours.terms)


def _user_of(actor: Actor) -> User | None:
    """Return the person who saves, in whose scope it runs; None for the service."""
    return User.objects.filter(pk=actor.id or 0).first() if actor.kind == "user" else None


def _check(schedule: Schedule) -> None:
    values = {name: getattr(schedule, name) for name in ("name", "recipients", "span", "aggregation")}
    if faults := list(Schedule.faults_of(values)):
        raise Invalid(faults)


def _log(schedule: Schedule, actor: Actor, action: str, changes: dict[str, Any]) -> None:
    schedule.changes.create(action=action, changes=changes, **change_columns(actor))
