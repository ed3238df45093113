"""Actions of lists on all rows that match: asked for, done by a worker in portions, cancelled.

Each row gets the same action as a selected row, in a savepoint of its own. The rows of a portion, their results and the
place among the ids are committed together: a worker that is killed leaves whole portions, and the next one goes on.
"""

import logging
import time
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, AuditEntry, record
from callcentre.core.changes import change_columns
from callcentre.core.due_work import Claim, NotOurs
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, is_lock_refusal
from callcentre.core.exporting.builds import Refused
from callcentre.core.request_id import current_request_id
from callcentre.core.scope import DIMENSIONS
from callcentre.core.sender import acting
from callcentre.lists.listed import Asked, admin_of, list_of, person, query_of_log, without_search
from callcentre.lists.models import ListAction
from callcentre.lists.runs import InvalidForm, WorkerRun
from callcentre.models import User

logger = logging.getLogger(__name__)

State = ListAction.State
# The most rows of one action.
MOST_ROWS = 1_000_000
# A portion ends after so many rows or seconds: it holds the locks of its rows.
PORTION = 100
PORTION_SECONDS = 0.5
# Ids that are read together: the database unpacks all ids of the row for each part of them.
IDS_READ = 10_000
# A worker then lets other tasks have their turn.
TURN_SECONDS = 30
# Kept for each reason of a refusal, and different reasons.
NAMED = 5
MOST_REASONS = 50
_COUNTS = ("done_count", "unchanged_count", "refused_count", "skipped_count")


def ask_action(user: User, list_name: str, **values: Any) -> ListAction:
    """Ask a worker to apply an action to all rows that match a list's address."""
    with transaction.atomic():
        job = ListAction.objects.create(
            list_name=list_name,
            language=translation.get_language(),
            request_id=current_request_id(),
            **change_columns(user.actor),
            **user.scope.by_column,
            **values,
        )
        # Its form may have words about customers.
        asked = {"list": list_name, "action": job.action, "query": query_of_log(job.query)}
        changes = {name: [None, value] for name, value in asked.items()}
        record(user.actor, AuditAction.ASK_ACTION, job, name=str(job), changes=changes)
        enqueue("lists.run_action", job.pk)
    return job


def cancel_action(job: ListAction, actor: Actor) -> None:
    """End the action after the portion that is being done. Raise Conflict if it has ended."""
    with transaction.atomic():
        if not ListAction.objects.waiting().filter(pk=job.pk).update(is_cancelled=True):
            raise Conflict(ErrorCode.CONFLICT)
        record(actor, AuditAction.CANCEL_ACTION, job, name=str(job))
        enqueue("lists.run_action", job.pk)


def canceller_of(job: ListAction) -> str:
    """Return the name of the person who cancelled the action; "" without one."""
    if not job.is_cancelled:
        return ""
    label, action = ListAction._meta.label_lower, AuditAction.CANCEL_ACTION
    entries = AuditEntry.objects.filter(model=label, object_id=str(job.pk), action=action)
    return entries.order_by("id").values_list("actor_name", flat=True).first() or ""


def run(pk: int) -> None:
    """Start or continue an action for some seconds, unless another worker has it."""
    claim = ListAction.objects.defer("ids").claim(pk)
    if claim:
        job = claim.row
        context = structlog.contextvars.bound_contextvars(request_id=job.request_id)
        with context, translation.override(job.language), claim:
            _take_turn(claim)


def _take_turn(claim: Claim[ListAction]) -> None:
    pk = claim.row.pk
    ends_at = time.monotonic() + TURN_SECONDS
    ids = _Ids(pk)
    try:
        while _do_portion(claim, ids):
            if time.monotonic() > ends_at:
                claim.put_off()
                enqueue("lists.run_action", pk)
                return
    except NotOurs:
        raise
    except Refused as refusal:
        claim.fail(refusal.args[0], is_final=True)
    except (OperationalError, InterfaceError):
        claim.release()
        raise
    except Exception:
        logger.exception("action on a list failed", extra={"list_action": pk})
        claim.fail(_("The service failed; its log has the cause."), is_final=True)


class _Ids:
    """The ids of a job, which never change, a part at a time."""

    def __init__(self, pk: int) -> None:
        self._job, self._begin, self._read = ListAction.objects.filter(pk=pk), 0, list[str]()

    def at(self, place: int) -> list[str]:
        """Return the ids of the portion that begins here."""
        if not self._begin <= place < self._begin + len(self._read):
            self._begin = place
            [self._read] = self._job.values_list(f"ids__{place}_{place + IDS_READ}", flat=True)
        return self._read[place - self._begin :][:PORTION]


@transaction.atomic
def _do_portion(claim: Claim[ListAction], ids: "_Ids") -> bool:
    """Do one portion, or first of all find the rows. Return whether there are more."""
    claim.lock()
    job = ListAction.objects.defer("ids").get(pk=claim.row.pk)
    if job.is_cancelled:
        claim.finish(**job.ended(State.CANCELLED))
        return False
    worker = _Worker(job)
    job.attempt_count = 0
    if job.total_count is None:
        job.ids, job.search_limit = worker.ids(), worker.listed.search_limit
        job.total_count = len(job.ids)
        job.scope = worker.user.scope
        job.state, job.started_at = State.RUNNING, timezone.now()
        found = ["ids", "search_limit", "total_count", "state", "started_at", "attempt_count", *DIMENSIONS]
        job.save(update_fields=found)
    else:
        # The audit log names the person and their address, not the service.
        with acting(worker.user.actor, job.actor_address):
            worker.do_portion(ids.at(job.place))
        job.save(update_fields=["place", *_COUNTS, "refusals", "attempt_count"])
    if job.place < job.total_count:
        return True
    claim.finish(**job.ended(State.FINISHED))
    return False


@dataclass(frozen=True)
class _Outcome:
    """The effect of an action on a row: the sentences of its refusal, or whether its verb changed the row."""

    refusals: list[str] = field(default_factory=list)
    has_changed: bool = False


class _Worker:
    """The list, the action and the person of a job. Raises Refused if the person may not do it any more."""

    def __init__(self, job: ListAction) -> None:
        self.job = job
        self.user = person(job.actor_id or 0)
        # The search finds the rows once: a later one may stop at other rows.
        query = job.query if job.total_count is None else without_search(job.query)
        self.listed = list_of(admin_of(job.list_name), self.user, query)
        self.admin = self.listed.model_admin
        actions = self.admin.get_actions(self._asked())
        if job.action not in actions:
            raise Refused(_("The person who asked may not do this any more."))
        self.action = actions[job.action][0]
        self.rows: QuerySet[Any] = self.listed.queryset

    def _asked(self) -> Asked:
        job = self.job
        return Asked(self.user, QueryDict(job.query), QueryDict(job.form), WorkerRun(job.facts))

    def ids(self) -> list[str]:
        """Return the ids that match, in their order."""
        found = self.rows.order_by("pk").prefetch_related(None).values_list("pk", flat=True)
        ids = list(dict.fromkeys(str(pk) for pk in found[: MOST_ROWS + 1].iterator()))
        if len(ids) > MOST_ROWS:
            raise Refused(_("More than %s rows match. Filter the list further.") % f"{MOST_ROWS:,}")
        return ids

    def do_portion(self, ids: list[str]) -> None:
        job, ends_at = self.job, time.monotonic() + PORTION_SECONDS
        of_portion = self.rows.filter(pk__in=ids).order_by()
        matching = _ids_of(of_portion)
        # The rows that the action says it changes.
        changing = _ids_of(of_portion.filter(**changed)) if (changed := changed_by(self.action)) else matching
        for pk in ids:
            if pk not in matching:
                job.skipped_count += 1
            else:
                self._count(pk, self._apply(pk) if pk in changing else _Outcome())
            job.place += 1
            if time.monotonic() > ends_at:
                return

    def _count(self, pk: str, outcome: _Outcome) -> None:
        if outcome.refusals:
            self.job.refused_count += 1
            self._note(outcome.refusals, pk)
        elif outcome.has_changed:
            self.job.done_count += 1
        else:
            self.job.unchanged_count += 1

    def _apply(self, pk: str) -> _Outcome:
        asked = self._asked()
        try:
            with transaction.atomic():
                self.action(self.admin, asked, self.admin.get_queryset(asked).filter(pk=pk))
        except InvalidForm:
            return _Outcome([str(_("The input of the action is not valid for this row."))])
        except Exception as error:
            if isinstance(error, OperationalError | InterfaceError) and not is_lock_refusal(error):
                raise
            try:
                return _Outcome([sentence for _field, sentence in self.admin.refusals_of(error)])
            except Exception:
                logger.exception("action failed on a row", extra={"list_action": self.job.pk, "row": pk})
                return _Outcome([str(_("The service failed; its log has the cause."))])
        return _Outcome(asked.run.refused, has_changed=asked.run.has_changed)

    def _note(self, sentences: list[str], pk: str) -> None:
        for sentence in sentences:
            reasons = self.job.refusals
            if sentence not in reasons and len(reasons) >= MOST_REASONS:
                sentence = str(_("Other reasons"))
            entry = reasons.setdefault(sentence, {"count": 0, "ids": []})
            entry["count"] += 1
            if len(entry["ids"]) < NAMED:
                entry["ids"].append(pk)


def changed_by(action: Any) -> dict[str, Any]:
    """Return the look-ups of the rows that an action changes; {} if the action does not say so."""
    changed: dict[str, Any] = getattr(action, "changed", {})
    return changed


def _ids_of(rows: QuerySet[Any]) -> set[str]:
    return {str(pk) for pk in rows.values_list("pk", flat=True)}
