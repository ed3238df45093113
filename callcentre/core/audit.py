"""The audit log: changes of what people edit, log-ins, and the reading of secrets, recordings and exports.

Tables of configuration have a trigger that compares the old row with the new one, so the log has every change: by a
page, by the API, by a command, by a statement of SQL. Tickets, records, customers, articles and others have histories
of their own, which verbs write. `AuditLog` shows both together. docs/decisions/0032 has the reasons.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from django.core.exceptions import ValidationError
from django.db import ProgrammingError, models
from django.db.backends.signals import connection_created
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.changes import Change, change_columns
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from callcentre.core.sender import sender
from callcentre.core.transactions import is_write, transaction_around

# The most entries of a history that the list of one object shows.
_MOST_OF_ONE = 10_000
_PRUNED_AT_ONCE = 10_000
_AN_HOUR = timedelta(hours=1)
# The setting of a transaction with the sender, for the trigger.
SETTING = "callcentre.sender"


@dataclass(frozen=True, slots=True)
class Audited:
    """The way to log changes of a table: columns to leave out, columns whose values stay secret, and the owner."""

    model: type[models.Model]
    # Columns that the service writes while it works, such as the time of the last poll.
    ignored: tuple[str, ...] = ()
    # Passwords, and what tells of customers and callers: the log is kept longer than their rows.
    secret: tuple[str, ...] = ()
    # The foreign key of the row that this row is a part of, as a campaign of its retry rules; "" for none.
    part_of: str = ""


AUDITED: dict[str, Audited] = {}
# Columns with the name of a row, in the order in which they are looked for. Agents have their login and both names.
NAMES = ("name", "login", "username", "title", "number")
Model = TypeVar("Model", bound=type[models.Model])


def audited(**options: Any) -> Callable[[Model], Model]:
    """Log each change of the rows of a model."""

    def register(model: Model) -> Model:
        AUDITED[model._meta.db_table] = Audited(model, **options)
        return model

    return register


class AuditAction(models.TextChoices):
    """An entry that is no change of a row."""

    ASK_DELETION = "ask_deletion", _("deletion asked for")
    ASK_DELETION_AGAIN = "ask_deletion_again", _("deletion asked for again")
    CONSENT_DELETION = "consent_deletion", _("deletion consented to")
    REFUSE_DELETION = "refuse_deletion", _("deletion refused")
    RETRY_MAIL = "retry_mail", _("mail processed again")
    DISCARD_MAIL = "discard_mail", _("mail discarded")
    LOG_IN = "log_in", _("logged in")
    LOG_OUT = "log_out", _("logged out")
    LOG_IN_REFUSED = "log_in_refused", _("log-in refused")
    LOCK_OUT = "lock_out", _("log-in locked out")
    SET_UP_FACTOR = "set_up_factor", _("second factor set up")
    REMOVE_FACTOR = "remove_factor", _("second factor removed")
    USE_RECOVERY_CODE = "use_recovery_code", _("recovery code used")
    RENEW_RECOVERY_CODES = "renew_recovery_codes", _("new recovery codes made")
    END_SESSIONS = "end_sessions", _("sessions ended")
    ASK_RESET = "ask_reset", _("new password asked for")
    RESET_PASSWORD = "reset_password", _("new password chosen by mail")
    READ_PASSWORDS = "read_passwords", _("passwords of receivers read")
    HEAR = "hear", _("recording heard")
    READ_TRANSCRIPTION = "read_transcription", _("transcription read")
    TRANSCRIBE_AGAIN = "transcribe_again", _("transcription asked for again")
    FETCH_AGAIN = "fetch_again", _("recording fetched again")
    LOG_IN_AGENT = "log_in_agent", _("agent logged in")
    LOG_OUT_AGENT = "log_out_agent", _("agent logged out")
    PAUSE_AGENT = "pause_agent", _("agent paused")
    FREE_AGENT = "free_agent", _("agent made ready")
    MESSAGE_AGENT = "message_agent", _("message sent to an agent")
    MONITOR = "monitor", _("listening to a call asked for")
    ASK_END_MONITORING = "ask_end_monitoring", _("end of listening asked for")
    END_MONITORING = "end_monitoring", _("listening to a call ended")
    ASK_TAKE_OVER = "ask_take_over", _("taking over of a call asked for")
    TAKE_OVER = "take_over", _("call taken over")
    END_CALL = "end_call", _("end of a call asked for")
    BEGIN_LINE = "begin_line", _("standing line asked for")
    END_LINE = "end_line", _("standing line ended")
    ASK_CALLBACK = "ask_callback", _("call-back asked for")
    CANCEL_CALLBACK = "cancel_callback", _("call-back cancelled")
    ASK_ACTION = "ask_action", _("action on a list asked for")
    CANCEL_ACTION = "cancel_action", _("action on a list cancelled")
    RESEND_REPORT = "resend_report", _("report mailed again")
    DISMISS_SEARCHES = "dismiss_searches", _("searches without a result dismissed")
    SHOW_SECRET = "show_secret", _("secret shown")
    EXPORT = "export", _("exported")
    DOWNLOAD = "download", _("downloaded")
    IMPORT = "import", _("imported")


class AuditEntry(Change):
    """An entry of the audit log: who changed or read what, when, and from where."""

    # Label of a model, as "campaigns.campaign".
    model = models.CharField(max_length=60)
    object_id = models.CharField(max_length=64, blank=True)
    object_name = models.CharField(max_length=200, blank=True)
    # Label of the model of a part that changed, as "campaigns.retryrule".
    part = models.CharField(max_length=60, blank=True)

    class Meta:
        app_label = "callcentre"
        ordering = ["-id"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["-at"], name="auditentry_at"),
            models.Index(fields=["model", "object_id", "-at"], name="auditentry_object"),
        ]


class AuditLogQuerySet(QuerySet["AuditLog"]):
    def of(self, label: str, pk: str) -> "AuditLogQuerySet":
        """Return the entries of one object: of the audit entries by their index, of its histories by theirs."""
        found = models.Q(source=AuditEntry._meta.label_lower, model=label, object_id=pk)
        for history in histories():
            owner = owner_of(history)
            if owner.related_model._meta.label_lower == label:
                try:
                    entries = history._base_manager.filter(**{owner.name: pk}).order_by("-pk")
                    ids = list(entries.values_list("pk", flat=True)[:_MOST_OF_ONE])
                except (ValueError, ValidationError):
                    continue
                found |= models.Q(source=history._meta.label_lower, row_id__in=ids)
        return self.filter(found)


class AuditLog(Change):
    """A row of the view over the audit entries and all histories."""

    # The log names rows of all scopes, so a person with a scope does not see it.
    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    # Label of the model of the entry, then its id: "tickets.ticketchange-17".
    id = models.CharField(primary_key=True, max_length=80)
    source = models.CharField(max_length=60)
    row_id = models.BigIntegerField()
    model = models.CharField(_("kind"), max_length=60)
    object_id = models.CharField(_("id"), max_length=64)
    object_name = models.CharField(_("name"), max_length=200)
    part = models.CharField(_("part"), max_length=60)

    objects = AuditLogQuerySet.as_manager()

    class Meta:
        app_label = "callcentre"
        managed = False
        db_table = "callcentre_auditlog"
        verbose_name = _("entry of the audit log")
        verbose_name_plural = _("audit log")
        ordering = ["-at", "-id"]
        default_permissions = ("view",)


def is_view_missing(error: Exception) -> bool:
    """Return whether the view of the audit log is missing: migrations are being applied."""
    cause = error.__cause__
    is_missing = getattr(cause, "sqlstate", "") == "42P01"  # undefined_table
    return isinstance(error, ProgrammingError) and is_missing and AuditLog._meta.db_table in str(cause)


def histories() -> Sequence[type[Change]]:
    """Return the models of histories that the audit log shows, besides the audit entries."""
    histories: list[type[Change]] = Change.__subclasses__()
    return [model for model in histories if model not in (AuditEntry, AuditLog)]


def owner_of(history: type[Change]) -> Any:
    """Return the foreign key to the object that the history is about."""
    return next(field for field in history._meta.fields if isinstance(field, models.ForeignKey))


def record(
    actor: Actor, action: str, row: models.Model | None = None, *, name: str = "", changes: dict[str, Any] | None = None
) -> None:
    """Write that a person or program did something that changes no row, such as hearing a recording."""
    AuditEntry.objects.create(changes=changes or {}, **_columns(actor, action, row, name))


def record_once(
    actor: Actor,
    action: str,
    row: models.Model | None = None,
    *,
    name: str = "",
    within: timedelta = _AN_HOUR,
) -> None:
    """Write an entry unless the same person has the same one of that time: a player asks for many parts of a file."""
    same = AuditEntry.objects.filter(at__gt=timezone.now() - within, **_columns(actor, action, row, name))
    if not same.exists():
        record(actor, action, row, name=name)


def _name_of(row: models.Model | None) -> str:
    """Return the name that the trigger would write. Other rows may be named after a customer, so only the list names
    them, as long as they exist.
    """
    declared = AUDITED.get(row._meta.db_table) if row else None
    if declared and hasattr(row, "surname"):
        return str(row)
    columns = [name for name in NAMES if declared and name not in declared.secret]
    return next((str(value) for name in columns if (value := getattr(row, name, None))), "")


def _columns(actor: Actor, action: str, row: models.Model | None, name: str) -> dict[str, Any]:
    return {
        "action": action,
        "model": row._meta.label_lower if row else "",
        "object_id": str(row.pk) if row else "",
        "object_name": (name or _name_of(row))[:200],
        **change_columns(actor),
    }


def counts_of(deleted: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the numbers of deleted rows by the label of their model, as changes of an entry."""
    return {label.lower(): [count, 0] for label, count in deleted.items() if count}


def prune(before: datetime) -> int:
    """Delete a batch of the oldest entries before this instant, and of histories that have outlived their objects.
    Return their number.
    """
    count = _delete_oldest(AuditEntry._base_manager.filter(at__lt=before))
    for history in histories():
        owner = owner_of(history)
        if owner.remote_field.on_delete is models.DO_NOTHING:
            there = owner.related_model._base_manager.filter(pk=models.OuterRef(owner.attname))
            left = history._base_manager.filter(
                ~models.Exists(there), at__lt=before, **{f"{owner.name}__isnull": False}
            )
            count += _delete_oldest(left)
    return count


def _delete_oldest(entries: QuerySet[Any]) -> int:
    oldest = list(entries.order_by("at").values_list("pk", flat=True)[:_PRUNED_AT_ONCE])
    return int(entries.model._base_manager.filter(pk__in=oldest).delete()[0])


@lru_cache(maxsize=1)
def _writes_audited() -> re.Pattern[str]:
    return re.compile(rf'\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(?:{"|".join(map(re.escape, AUDITED))})\b')


def _tell_sender(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    """Tell the database who sends a statement that changes an audited table, in one more round trip.

    The setting ends with the transaction, so a pooler hands it to no other process.
    """
    connection = context["connection"]
    if connection.needs_rollback or not is_write(sql) or not _writes_audited().search(sql):
        return execute(sql, params, many, context)
    with connection.wrap_database_errors, transaction_around(connection):
        connection.connection.execute("SELECT set_config(%s, %s, true)", (SETTING, _described()))
        return execute(sql, params, many, context)


def _described() -> str:
    given = sender()
    actor = given.find_actor()
    described = {"kind": actor.kind, "id": actor.id, "name": actor.name[:150], "address": given.address}
    return json.dumps({**described, "is_bulk": given.is_bulk})


def _watch(connection: Any, **kwargs: Any) -> None:
    if _tell_sender not in connection.execute_wrappers:
        connection.execute_wrappers.append(_tell_sender)


connection_created.connect(_watch, dispatch_uid="callcentre.core.audit")
