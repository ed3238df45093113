"""Exports of the report: asked for, finished, failed; and their mails, tried again."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import actor_columns
from callcentre.core.due_work import Claim
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.request_id import current_request_id
from callcentre.core.scope import ALL, Scope
from reports.models import Export, ExportMail


def ask_export(actor: Actor, begin: datetime, end: datetime, scope: Scope = ALL, **values: Any) -> Export:
    """Ask a worker for an export within the scope; reports.parameters has checked the values."""
    with transaction.atomic():
        if "schedule" not in values:
            Export.objects.check_may_ask(actor)
        export = Export.objects.create(
            begins_at=begin,
            ends_at=end,
            request_id=current_request_id(),
            **actor_columns(actor),
            **scope.by_column,
            **values,
        )
        record(actor, AuditAction.EXPORT, export, name=export.file_name)
        enqueue("reports.build_exports")
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
