"""The erasure of one person in all apps: a deletion (callcentre.core.deletions) of the kind "person".

A worker first removes the person's own rows, app by app; then it searches all other rows for the person's numbers and
addresses, in portions, and removes these from the texts. Each step is one transaction with its counts and its place, so
another worker goes on after a crash.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy

from callcentre.core import personal_data
from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import change_columns, still_there, store
from callcentre.core.deletions import RIGHT, Consequences, Deletion, Kind, checked_reason, register
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.personal_data import Fate, Person

KIND = "person"
Removal = Callable[[Deletion, Person], None]
_removals: list[Removal] = []


def may_erase(user: Any) -> bool:
    """Return whether the user may see, export and erase whole people: with the right, and without a scope."""
    return bool(user.has_perm(RIGHT) and user.scope.is_all)


def register_removals(*removals: Removal) -> None:
    """Set the functions that remove a person's own rows, one for each app, in their order."""
    _removals[:] = removals


def ask(actor: Actor, person: Person, reason: str) -> Deletion:
    """Ask for the erasure of a person. It waits for a second person's consent if the settings say so.

    Raise Invalid without a reason, Conflict if a legal hold forbids it, or if it was asked for already.
    """
    reason = checked_reason(reason)
    if personal_data.has_held(person):
        raise Conflict(ErrorCode.LEGAL_HOLD)
    needs_consent = settings.ERASURE_NEEDS_CONSENT
    object_id = str(person.customers[0] if person.customers else uuid4())
    with transaction.atomic():
        asked = Deletion.objects.filter(kind=KIND, object_id=object_id, state__in=["asked", "queued", "running"])
        if asked.exists():
            raise Conflict(ErrorCode.ERASURE_ASKED_ALREADY)
        deletion = Deletion.objects.create(
            kind=KIND,
            object_id=object_id,
            person=person.text,
            reason=reason,
            state=Deletion.State.ASKED if needs_consent else Deletion.State.QUEUED,
            next_attempt_at=None if needs_consent else timezone.now(),
            **change_columns(actor),
        )
        record(actor, AuditAction.ASK_DELETION, deletion, name=KIND, changes={"reason": [None, reason]})
        enqueue(Deletion.task, deletion.pk)
    return deletion


def consent(actor: Actor, deletion: Deletion) -> None:
    """Let the erasure begin. Raise Conflict if it waits for no consent, or for that of another person."""
    with transaction.atomic():
        locked = _locked(deletion)
        if (locked.actor_kind, locked.actor_id) == (actor.kind, actor.id):
            raise Conflict(ErrorCode.CONSENT_OF_ANOTHER)
        now = timezone.now()
        store(locked, state=Deletion.State.QUEUED, next_attempt_at=now, consented_by=actor.name[:150], consented_at=now)
        record(actor, AuditAction.CONSENT_DELETION, locked, name=KIND)
        enqueue(Deletion.task, deletion.pk)


def refuse(actor: Actor, deletion: Deletion) -> None:
    """End an erasure that waits for consent. The person who asked may withdraw it so. Raise Conflict otherwise."""
    with transaction.atomic():
        locked = _locked(deletion)
        store(locked, state=Deletion.State.REFUSED, finished_at=timezone.now(), person="")
        record(actor, AuditAction.REFUSE_DELETION, locked, name=KIND)


def _locked(deletion: Deletion) -> Deletion:
    rows = Deletion.objects.select_for_update(no_key=True).filter(pk=deletion.pk)
    locked: Deletion = still_there(rows.filter(kind=KIND, state=Deletion.State.ASKED))
    return locked


def _delete(deletion: Deletion) -> None:
    person = Person.of(deletion.person)
    for removal in _removals:
        removal(deletion, person)
    if person.pattern:
        _redact(deletion, person)
    kept = Counter({found.model: found.count for found in personal_data.found_of(person) if found.fate == Fate.KEPT})
    deletion.kept = dict(kept + Counter(deletion.notes.get("held", {})))


def _redact(deletion: Deletion, person: Person) -> None:
    """Remove numbers and addresses from texts of all models, one portion of a model a step. Count texts on hold."""
    for model, data in personal_data.entries():
        label = model._meta.label_lower
        done: str | None = deletion.notes.get("model")
        if done and label < done:
            continue
        after: Any = deletion.notes.get("after") if label == done else None
        while True:
            with deletion.step():
                rows, after = personal_data.mentions(model, data, person, after)
                emptied, held = personal_data.redact(model, rows, data, person)
                deletion.count_emptied(label, emptied)
                kept = Counter(deletion.notes.get("held", {})) + Counter({label: held})
                key = str(after) if after is not None else None
                deletion.notes = {**deletion.notes, "model": label, "after": key, "held": kept}
            if after is None:
                break


register(
    KIND,
    # Its page shows what there is of the person (tickets/admin/people.py).
    Kind("callcentre.deletion", lambda _person: Consequences(), _delete, name=gettext_lazy("person")),
)
