"""Deletions of personal data: a person asks with a reason, a worker deletes in small steps, and the trace stays.

Each app registers the kinds of objects that it can delete, with the consequences and the steps of each deletion. Files
are removed from the storage after the transaction that deletes their rows.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext as translate
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop, pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, AuditEntry, counts_of, record
from callcentre.core.changes import change_columns
from callcentre.core.due_work import Claim, DueQuerySet, DueWork, NotOurs, Retries
from callcentre.core.encryption import EncryptedTextField
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.file_removals import remove_files
from callcentre.core.legal_holds import LegalHold
from callcentre.core.personal_data import Person, has_held, is_held
from callcentre.core.sender import acting

logger = logging.getLogger(__name__)

RIGHT = "callcentre.delete_personal_data"
LONGEST_REASON = 500
# The pause after an attempt that found the object in use.
BUSY_PAUSE = timedelta(seconds=10)
# After this time a deletion lets the worker do other tasks and is enqueued again.
TURN_SECONDS = 300.0
ON_HOLD = gettext_noop("A legal hold forbids the deletion.")


@dataclass(frozen=True, slots=True)
class Part:
    model: str
    count: int

    @property
    def name(self) -> str:
        return model_name(self.model)


@dataclass(slots=True)
class Consequences:
    """The effects of the deletion of one object, shown before a person confirms it."""

    # Rows that are deleted, and rows that stay without the person.
    deleted: list[Part] = field(default_factory=list)
    emptied: list[Part] = field(default_factory=list)
    # Sentences about rows that stay, and about changes elsewhere.
    remarks: list[str] = field(default_factory=list)
    # The reason why the object cannot be deleted now; "" if it can.
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object that can be deleted, with its description and the function that deletes it in steps.

    `person`: returns the person that the object of an id is, whose rows go with it; None if the object alone counts.
    """

    model: str
    consequences: Callable[[Any], Consequences]
    delete: Callable[["Deletion"], None]
    person: Callable[[int], Person] | None = None
    # Its name; "" for that of the model.
    name: Any = ""


_kinds: dict[str, Kind] = {}
# Remarks on the deletion of a kind, added by apps above the app that registers it.
_remarks: dict[str, list[Callable[[Any], Iterable[str]]]] = {}


def register(name: str, kind: Kind) -> None:
    """Add a kind; called by AppConfig.ready()."""
    _kinds[name] = kind


def register_remarks(name: str, remarks: Callable[[Any], Iterable[str]]) -> None:
    """Add sentences to the page of a kind; called by AppConfig.ready() of an app above."""
    _remarks.setdefault(name, []).append(remarks)


def kind_names() -> list[tuple[str, str]]:
    return [(name, str(kind.name or apps.get_model(kind.model)._meta.verbose_name)) for name, kind in _kinds.items()]


def model_name(label: str) -> str:
    """Return the plural name of a model, for a list of counts."""
    return str(apps.get_model(label)._meta.verbose_name_plural)


def consequences_of(name: str, row: Any) -> Consequences:
    found = _kinds[name].consequences(row)
    found.deleted = [part for part in found.deleted if part.count]
    found.emptied = [part for part in found.emptied if part.count]
    found.remarks += [remark for remarks in _remarks.get(name, ()) for remark in remarks(row)]
    if _is_held(name, row.pk):
        found.obstacle = translate(ON_HOLD)
    return found


def _is_held(name: str, pk: Any) -> bool:
    """Return whether a legal hold keeps the object, or a row that would go with it."""
    kind = _kinds[name]
    return has_held(kind.person(int(pk))) if kind.person else is_held(apps.get_model(kind.model), pk)


def checked_reason(reason: str) -> str:
    """Return the reason in one line. Raise Invalid without one, or if it is too long."""
    reason = " ".join(reason.split())
    if not reason:
        raise Invalid([Fault(ErrorCode.EMPTY, "reason")])
    if len(reason) > LONGEST_REASON:
        raise Invalid([Fault(ErrorCode.TOO_LONG, "reason", {"limit": LONGEST_REASON})])
    return reason


class Busy(Exception):
    """The object is in use: the deletion is tried again soon. The text is stored, in English."""


# Sent when the rows of a deletion are gone, before it is finished; twice if the worker dies in between.
personal_data_deleted = Signal()


class _OnHold(Exception):
    """A legal hold has begun since the deletion was asked for."""


class _TurnOver(Exception):
    """The deletion has had the worker for TURN_SECONDS and continues after other tasks."""


class Deletion(DueWork):
    """The trace of a deletion: the person, the time, the reason, and the number of deleted rows.

    It names the object by kind and id and holds no personal data: `person` is emptied at the end. An erasure may be
    ASKED until a second person consents or refuses. It is QUEUED until a worker takes it. RUNNING ones proceed in small
    transactions that also store the counts, so another worker can continue after a crash. FINISHED rows never change,
    and no row is ever deleted.
    """

    waits = Q(state__in=["queued", "running"])
    delays = Retries.DELETION
    task = "callcentre.delete_personal_data"

    class State(models.TextChoices):
        ASKED = "asked", _("waits for consent")
        REFUSED = "refused", _("refused")
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        FAILED = "failed", _("failed")

    kind = models.CharField(_("kind"), max_length=20)
    object_id = models.CharField(_("id"), max_length=36)
    reason = models.CharField(_("reason"), max_length=LONGEST_REASON)
    actor_kind = models.CharField(max_length=10)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(_("deleted by"), max_length=150)
    # The address of the request that asked, for what the worker writes into histories.
    actor_address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(_("asked for"), db_default=Now())
    finished_at = models.DateTimeField(_("finished"), null=True)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    # Label of a model -> the number of its deleted rows, and of its rows that stay without the person.
    deleted = models.JSONField(_("deleted"), default=dict)
    emptied = models.JSONField(_("emptied"), default=dict)
    # Label of a model -> the number of rows that stay as they are.
    kept = models.JSONField(_("kept"), null=True)
    # The numbers and addresses of the person whom an erasure is about (callcentre.core.erasures).
    person = EncryptedTextField(blank=True, default="", db_default="", editable=False)
    consented_by = models.CharField(_("consent of"), max_length=150, blank=True, default="", db_default="")
    consented_at = models.DateTimeField(null=True)
    # Ids of deleted rows that a later step needs.
    notes = models.JSONField(default=dict)
    next_attempt_at = models.DateTimeField(null=True, db_column="due_at")
    # Attempts in a row without a finished step.
    attempt_count = models.PositiveSmallIntegerField(default=0, db_column="failure_count")
    # Not used since 1.0.0, whose workers name a claim by the end of its lease. The next release drops the column.
    claim_number = models.PositiveIntegerField(default=0)
    # The reason for waiting or for the failure.
    error = models.CharField(_("error"), max_length=300, blank=True)

    objects = DueQuerySet.as_manager()

    class Meta:
        app_label = "callcentre"
        verbose_name = pgettext_lazy("of personal data", "deletion")
        verbose_name_plural = pgettext_lazy("of personal data", "deletions")
        ordering = ["-id"]
        default_permissions = ("view",)
        permissions = [
            ("delete_personal_data", gettext_noop("Can delete customers, tickets, chats, mail, files and recordings"))
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "object_id"],
                condition=Q(state__in=["queued", "running"]),
                name="deletion_is_asked_once",
                violation_error_message=_("It is being deleted already."),
            ),
            models.CheckConstraint(
                name="deletion_waiting_is_due",
                condition=~Q(state__in=["queued", "running"]) | Q(next_attempt_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(state__in=["queued", "running"]), name="deletion_due"),
            models.Index(fields=["kind", "object_id"], name="deletion_object"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}"

    @classmethod
    def ask(cls, actor: Actor, name: str, row: models.Model, reason: str) -> "Deletion":
        """Ask for the deletion of an object. Raise Invalid without a reason, Conflict if the object cannot be deleted
        now, or is on hold.
        """
        reason = checked_reason(reason)
        if _is_held(name, row.pk):
            raise Conflict(ErrorCode.LEGAL_HOLD)
        if consequences_of(name, row).obstacle:
            raise Conflict(ErrorCode.NOT_DELETABLE_NOW)
        with transaction.atomic():
            deletion = cls.objects.create(
                kind=name,
                object_id=str(row.pk),
                reason=reason,
                next_attempt_at=timezone.now(),
                **change_columns(actor),
            )
            # Without the name: the object is gone soon, with all that names the person.
            record(actor, AuditAction.ASK_DELETION, row, name=name, changes={"reason": [None, reason]})
            enqueue("callcentre.delete_personal_data", deletion.pk)
        return deletion

    def ask_again(self, actor: Actor) -> None:
        """Retry a failed deletion. Raise Conflict if it has not failed."""
        failed = Deletion.objects.filter(pk=self.pk, state=self.State.FAILED)
        again = {"state": self.State.QUEUED, "next_attempt_at": timezone.now(), "attempt_count": 0, "error": ""}
        with transaction.atomic():
            if not failed.update(**again):
                raise Conflict(ErrorCode.CONFLICT)
            record(actor, AuditAction.ASK_DELETION_AGAIN, self, name=self.kind)
            enqueue("callcentre.delete_personal_data", self.pk)

    @property
    def actor(self) -> Actor:
        return Actor(self.actor_kind, self.actor_id, self.actor_name)  # type: ignore[arg-type]

    @property
    def has_ended(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED, self.State.REFUSED)

    @property
    def why(self) -> str:
        """The reason for waiting or for the failure, in the reader's language."""
        return translate(self.error) if self.error else ""

    @property
    def kind_name(self) -> str:
        return dict(kind_names()).get(self.kind, self.kind)

    # For workers

    def begin(self, claim: Claim["Deletion"]) -> None:
        self.claim, self._ends_at = claim, time.monotonic() + TURN_SECONDS
        self._last_hold: int | None = None

    @contextmanager
    def step(self) -> Iterator["Counter[str]"]:
        """Run one transaction of the deletion; yield the counter of deleted rows by model.

        Raise NotOurs if another worker has the deletion.
        """
        if time.monotonic() > self._ends_at:
            raise _TurnOver
        with transaction.atomic():
            self.claim.lock()
            self._check_holds()
            deleted: Counter[str] = Counter()
            yield deleted
            self.deleted = _sum(self.deleted, deleted)
            self.attempt_count, self.error = 0, ""
            self.save(update_fields=["deleted", "emptied", "notes", "attempt_count", "error"])

    def _check_holds(self) -> None:
        """Raise _OnHold if a legal hold that this worker has not seen yet forbids the deletion."""
        last = LegalHold.objects.filter(ended_at=None).order_by("-pk").values_list("pk", flat=True).first()
        if last and last != self._last_hold:
            self._last_hold = last
            if has_held(Person.of(self.person)) if self.person else _is_held(self.kind, self.object_id):
                raise _OnHold

    def count_emptied(self, model: str, count: int) -> None:
        """Count rows that stay without the person; called within a step."""
        self.emptied = _sum(self.emptied, {model: count})

    def finish(self) -> None:
        """End the deletion, and leave one entry with its counts in the audit log: the histories are gone."""
        with transaction.atomic():
            done = {"state": self.State.FINISHED, "finished_at": timezone.now(), "error": "", "person": ""}
            self.claim.finish(**done, kept=self.kept)
            gone = apps.get_model(_kinds[self.kind].model)(pk=self.object_id)
            record(self.actor, "delete", gone, changes=counts_of(self.deleted))

    def given_up(self, error: str) -> dict[str, Any]:
        return {**super().given_up(error), "finished_at": timezone.now()}


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return dict(Counter(one) + Counter(other))


def run(pk: int) -> None:
    """Start or continue a deletion, if it is due and no other worker has it."""
    if claim := Deletion.objects.claim(pk):
        with claim:
            _run(claim)
        remove_files()


def _run(claim: Claim[Deletion]) -> None:
    deletion = claim.row
    claim.write(state=Deletion.State.RUNNING)
    deletion.begin(claim)
    try:
        # Without entries in the audit log for the rows: they would keep what must go.
        with acting(deletion.actor, deletion.actor_address, is_bulk=True):
            _kinds[deletion.kind].delete(deletion)
            personal_data_deleted.send(Deletion)
            deletion.finish()
    except NotOurs:
        raise
    except _TurnOver:
        claim.put_off(attempt_count=0)
        enqueue("callcentre.delete_personal_data", deletion.pk)
    except _OnHold:
        claim.fail(ON_HOLD, is_final=True)
    except Busy as reason:
        claim.put_off(BUSY_PAUSE, attempt_count=0, error=str(reason)[:300])
    except Exception as error:
        logger.exception("deletion interrupted", extra={"deletion": deletion.pk})
        claim.fail(type(error).__name__)


def forget_log_entries(model: type[models.Model], ids: Collection[Any]) -> None:
    """Blank the names and values of deleted objects in the audit log. It still shows the time and the editor of each
    change. Django's log of edits has no names.
    """
    logged = AuditEntry.objects.filter(model=model._meta.label_lower, object_id__in=[str(each) for each in ids])
    logged.update(object_name="", changes={})
