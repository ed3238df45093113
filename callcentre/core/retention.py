"""Retention: how long rows of each kind are kept, and the nightly work that deletes older ones.

Each app registers its kinds. A worker deletes in portions of one short transaction each, which skip locked
rows, and pauses after each for as long as it took. It goes on in the next night where it was.

Rows that reports count are a ledger: before they are deleted, the months that they lie in become final.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.audit import audited
from callcentre.core.deletions import TURN_SECONDS
from callcentre.core.due_work import DIED, Claim, DueQuerySet, DueWork, NotOurs, Retries
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.file_removals import remove_files
from callcentre.core.personal_data import without_held
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from callcentre.core.sender import acting
from callcentre.core.times import zone

logger = logging.getLogger(__name__)

LEAST_DAYS, MOST_DAYS = 30, 36_500
# Rows of one transaction, the longest pause after it, and the most rows that a dry run counts.
PORTION = 1_000
MOST_PAUSE = 1.0
MOST_COUNTED = 1_000_000
# After so many rows of one turn that cannot be deleted the night is over.
MOST_FAILED = 100
# The time until a ledger is tried again whose sums are not ready.
_LATER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of rows that a retention deletes, unless a legal hold keeps them.

    `rows`: those that are older than an instant. `delete`: deletes locked rows with these keys and all that belongs to
    them, in the transaction of the caller; None if nothing does. `meaning`: what goes and what stays.
    """

    label: Any
    meaning: Any
    rows: Callable[[datetime], "models.QuerySet[Any]"]
    delete: Callable[[Sequence[Any]], object] | None = None
    is_ledger: bool = False
    portion: int = PORTION

    def free(self, before: datetime) -> "models.QuerySet[Any]":
        """Return the rows that may go."""
        return without_held(self.rows(before))


KINDS: dict[str, Kind] = {}
# Make the months before an instant final; return False if their sums are not ready.
_finalisers: list[Callable[[datetime], bool]] = []


def register(**kinds: Kind) -> None:
    """Add kinds, by their names; called by AppConfig.ready()."""
    KINDS.update(kinds)


def register_finaliser(finalise: Callable[[datetime], bool]) -> None:
    _finalisers.append(finalise)


@audited(
    ignored=(
        "next_attempt_at",
        "attempt_count",
        "before",
        "place",
        "removed_count",
        "begun_at",
        "ended_at",
        "deleted_before",
        "error",
    )
)
class Retention(DueWork):
    """How many days rows of a kind are kept (NULL: for good), and the state of the nightly work."""

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    waits = Q(days__isnull=False)
    delays = Retries.JOB
    task = "callcentre.run_retention"

    kind = models.CharField(_("kind"), max_length=30, primary_key=True)
    days = models.PositiveIntegerField(_("days"), null=True)
    # Of the present run: the instant before which rows go, and the key of the last row that was looked at.
    before = models.DateTimeField(null=True)
    place = models.CharField(max_length=40, blank=True)
    removed_count = models.BigIntegerField(_("deleted"), default=0)
    begun_at = models.DateTimeField(_("begun"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    # Older rows are gone for good.
    deleted_before = models.DateTimeField(null=True)
    error = models.CharField(_("error"), max_length=300, blank=True)

    objects = DueQuerySet.as_manager()

    class Meta:
        app_label = "callcentre"
        verbose_name = _("retention")
        verbose_name_plural = _("retention")
        ordering = ["kind"]
        default_permissions = ("change", "view")
        indexes = [models.Index(fields=["next_attempt_at"], condition=Q(days__isnull=False), name="retention_due")]

    def __str__(self) -> str:
        return self.kind

    def given_up(self, error: str) -> dict[str, Any]:
        return self.failed(error or DIED)

    @property
    def gone_before(self) -> datetime | None:
        """Before which instant rows are gone after this run: a later, longer setting brings none back."""
        return max(filter(None, (self.deleted_before, self.before)), default=None)

    @property
    def why(self) -> str:
        """The rows that this run could not delete, or the reason for waiting, in the reader's language."""
        if failed := _failed_before(self):
            return _now("Could not be deleted: %(rows)s") % {"rows": failed}
        return _now(self.error) if self.error else ""

    @property
    def is_running(self) -> bool:
        return self.before is not None


def all_kinds() -> list[tuple[str, Kind, Retention]]:
    """Return the kinds with their rows; a kind without a row is kept for good."""
    rows = {row.kind: row for row in Retention.objects.all()}
    return [(name, kind, rows.get(name) or Retention(kind=name)) for name, kind in KINDS.items()]


def checked_days(text: Any) -> int | None:
    """Return the days, None for "". Raise Invalid."""
    text = str("" if text is None else text).strip()
    if not text:
        return None
    if not (text.isdecimal() and len(text) <= len(str(MOST_DAYS)) and LEAST_DAYS <= int(text) <= MOST_DAYS):
        raise Invalid([Fault(ErrorCode.OUT_OF_RANGE, "days", {"low": LEAST_DAYS, "high": MOST_DAYS})])
    return int(text)


def set_days(actor: Actor, kind: str, days: int | None) -> Retention:
    """Set how long rows of a kind are kept. The work begins in the next night."""
    with transaction.atomic(), acting(actor, None):
        row: Retention = Retention.objects.select_for_update(no_key=True).get_or_create(kind=kind)[0]
        row.days, row.before, row.place, row.error = days, None, "", ""
        row.next_attempt_at, row.attempt_count = (None if days is None else next_night(timezone.now())), 0
        row.save()
    return row


def cut_off(kind: str, days: int, now: datetime) -> datetime:
    """Return the instant before which rows of a kind go: of a ledger the beginning of a month."""
    before = now - timedelta(days=days)
    if not KINDS[kind].is_ledger:
        return before
    return before.astimezone(zone()).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def count(kind: str, days: int) -> int:
    """Count the rows that would go now, MOST_COUNTED + 1 at most."""
    rows = KINDS[kind].free(cut_off(kind, days, timezone.now())).order_by()
    return rows.values("pk")[: MOST_COUNTED + 1].count()


def is_night(now: datetime) -> bool:
    hour, first, last = now.astimezone(zone()).hour, settings.RETENTION_FROM_HOUR, settings.RETENTION_UNTIL_HOUR
    return first <= hour < last if first < last else hour >= first or hour < last


def next_night(now: datetime) -> datetime:
    """Return the next beginning of the hours in which a retention works."""
    begin = now.astimezone(zone()).replace(hour=settings.RETENTION_FROM_HOUR, minute=0, second=0, microsecond=0)
    return begin if begin > now else begin + timedelta(days=1)


def run(kind: str) -> None:
    """Start or go on with the work of a kind, if it is due, it is night, and no other worker is at it."""
    if claim := Retention.objects.claim(kind, _give_up):
        with claim:
            _run(claim)
        remove_files()


def _give_up(claim: Claim[Retention]) -> None:
    claim.put_off(next_night(timezone.now()) - timezone.now(), attempt_count=0, error=DIED)


def _run(claim: Claim[Retention]) -> None:
    row, now = claim.row, timezone.now()
    kind = KINDS.get(row.kind)
    if kind is None or not is_night(now):
        claim.put_off(next_night(now) - now, attempt_count=0)
        return
    if row.before is None:
        row.before = cut_off(row.kind, row.days or MOST_DAYS, now)
        claim.write(before=row.before, place="", removed_count=0, begun_at=now, ended_at=None, error="")
    try:
        if kind.is_ledger and not all(finalise(row.before) for finalise in _finalisers):
            error = _failed_before(row) or gettext_noop("the sums of the report are not ready")
            claim.put_off(_LATER, attempt_count=0, error=error)
            return
        if kind.is_ledger:
            claim.write(deleted_before=row.gone_before)
        _delete(claim, kind)
    except NotOurs:
        raise
    except Exception as error:
        logger.exception("retention interrupted", extra={"kind": row.kind})
        claim.put_off(_LATER, error=_failed_before(row) or type(error).__name__)


def _delete(claim: Claim[Retention], kind: Kind) -> None:
    row, ends_at, failed_count = claim.row, time.monotonic() + TURN_SECONDS, 0
    with acting(SYSTEM, None, is_bulk=True):
        while keys := _next(kind, row):
            begun = time.monotonic()
            failed_count += _delete_portion(claim, kind, keys)
            remove_files()
            now = timezone.now()
            if not is_night(now) or failed_count > MOST_FAILED:
                claim.put_off(next_night(now) - now, attempt_count=0)
                return
            if time.monotonic() > ends_at:
                claim.put_off()
                enqueue(Retention.task, row.pk)
                return
            time.sleep(min(time.monotonic() - begun, MOST_PAUSE))
    now = timezone.now()
    claim.put_off(
        next_night(now) - now,
        before=None,
        place="",
        ended_at=now,
        deleted_before=row.gone_before,
        attempt_count=0,
        error=_failed_before(row),
    )


def _delete_portion(claim: Claim[Retention], kind: Kind, keys: Sequence[Any]) -> int:
    """Delete the rows of these keys, one by one if they cannot go together. Return the number of those that failed: the
    run goes on behind them, and `error` names them.
    """
    row = claim.row
    row.place = str(keys[-1])
    if not _error_of(claim, kind, keys):
        return 0
    failed = [f"#{key} {error}" for key in keys if (error := _error_of(claim, kind, [key]))]
    if failed:
        row.error = ", ".join([*filter(None, [_failed_before(row)]), *failed])[:300]
        claim.write(place=row.place, error=row.error)
    return len(failed)


def _error_of(claim: Claim[Retention], kind: Kind, keys: Sequence[Any]) -> str:
    """Delete the rows that are free in one transaction. Return the name of the error that prevented it, or ""."""
    row = claim.row
    assert row.before
    try:
        with transaction.atomic():
            claim.lock()
            free = kind.free(row.before).filter(pk__in=keys).order_by("pk")
            locked = list(free.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True))
            if kind.delete:
                kind.delete(locked)
            else:
                free.model._base_manager.filter(pk__in=locked).delete()
            progress = {"place": str(keys[-1]), "removed_count": F("removed_count") + len(locked), "attempt_count": 0}
            Retention.objects.filter(pk=row.pk).update(**progress)
    except NotOurs:
        raise
    except Exception as error:
        if not connection.is_usable():
            raise
        logger.exception("rows of a retention not deleted", extra={"kind": row.kind, "first": keys[0]})
        return type(error).__name__
    return ""


def _failed_before(row: Retention) -> str:
    """Return the rows that this run could not delete, as `error` names them."""
    return row.error if row.error.startswith("#") else ""


def _next(kind: Kind, row: Retention) -> list[Any]:
    """Return the keys of the next rows, after the last ones. Those on hold are passed when they are locked."""
    rows = kind.rows(row.before).order_by("pk")  # type: ignore[arg-type]
    if row.place:
        rows = rows.filter(pk__gt=row.place)
    return list(rows.values_list("pk", flat=True)[: kind.portion])
