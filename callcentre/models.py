import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AbstractUser, Group
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.audit import (  # models of this app, too
    AuditAction,
    AuditEntry,  # noqa: F401
    AuditLog,  # noqa: F401
    audited,
    record,
)
from callcentre.core.changes import (
    Change,
    TimestampedModel,
    change_columns,
    differences,
    in_history,
    store_edit,
)
from callcentre.core.errors import Outdated
from callcentre.core.network import parse_networks
from callcentre.core.scope import OWN_COLUMNS, Lookups, Scope
from callcentre.core.sender import acting

AREAS = {
    "campaigns": _("Campaigns and their records"),
    "agents": _("Agents and their groups"),
    "connections": _("Calls, queues, topics, transcriptions"),
    "supervision": _("Listening to calls, and taking part in them"),
    "tickets": _("Tickets, chats and files"),
    "customers": _("Customers and companies"),
    "knowledge_base": _("Knowledge base"),
    "webhooks": _("Webhooks and events"),
    "reports": _("Reports"),
    "personal_data": _("Export and erasure of the data of a person"),
    "system": _("Pauses and transfer shortcuts"),
}
RIGHTS = ["*", *(f"{area}:{access}" for area in ("*", *AREAS) for access in ("read", "write"))]


def _scope_of(label: Any) -> Any:
    return ArrayField(models.BigIntegerField(), null=True, blank=True, verbose_name=label, help_text=_("Empty: all."))


class ScopeColumns(models.Model):
    """The columns of a scope (callcentre/core/scope.py): the ids of each dimension; NULL stands for all."""

    scope_lookups: ClassVar[Lookups] = OWN_COLUMNS

    scope_ticket_queues = _scope_of(_("ticket queues"))
    scope_call_queues = _scope_of(_("call queues"))
    scope_outbounds = _scope_of(_("campaigns"))
    scope_agent_groups = _scope_of(_("agent groups"))

    class Meta:
        abstract = True

    @property
    def scope(self) -> Scope:
        return Scope.of_columns(self)

    @scope.setter
    def scope(self, scope: Scope) -> None:
        for column, ids in scope.by_column.items():
            setattr(self, column, ids)


@audited(ignored=("last_login",), secret=("password",))
class User(ScopeColumns, AbstractUser):  # noqa: DJ008  (AbstractUser has it)
    """A person who works in the admin; neither an API user nor an agent.

    Rights say what they may do, the scope says with whose rows. Superusers see all.
    """

    class Meta:
        verbose_name = _("back-office user")
        verbose_name_plural = _("back-office users")
        constraints = [
            models.CheckConstraint(
                name="user_superuser_has_no_scope",
                condition=models.Q(is_superuser=False) | models.Q(**dict.fromkeys(OWN_COLUMNS)),
                violation_error_message=_("A superuser sees all rows: leave the scope empty."),
            )
        ]

    @property
    def actor(self) -> Actor:
        return Actor("user", self.pk, self.get_username())

    def check_password(self, raw_password: str | None) -> bool:
        """Return whether this is the password. Django may store a stronger hash of it, which the audit log leaves out:
        the password stays the same.
        """
        with acting(self.actor, None, is_bulk=True):
            return super().check_password(raw_password)


audited()(Group)
audited(part_of="group")(Group.permissions.through)
audited(part_of="user")(User.groups.through)
audited(part_of="user")(User.user_permissions.through)


def validate_networks(networks: Iterable[str]) -> None:
    for network in networks:
        try:
            parse_networks((network,))
        except ValueError as error:
            raise ValidationError(
                _("%(network)s is no network: write 192.0.2.0/24 or one address."),
                code="network",
                params={"network": network},
            ) from error


def hash_secret(secret: str) -> str:
    """Return the SHA-256 in hex. It suits only generated secrets, whose 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


class ApiUser(TimestampedModel):
    """A program that calls the API, with a login and a generated secret, or a password that an operator chose.

    A rotated secret keeps its predecessor valid for a while. Authentication reads this row on every request, so a
    change takes effect at once (docs/decisions/0002). Only the verbs change a row; each leaves an ApiUserChange.
    """

    login = models.CharField(_("login"), max_length=150, unique=True)
    description = models.CharField(_("description"), max_length=200, blank=True)
    is_active = models.BooleanField(_("active"), default=True)
    rights = ArrayField(
        models.CharField(max_length=30, choices=[(right, right) for right in RIGHTS]),
        default=list,
        blank=True,
        verbose_name=_("rights"),
        help_text=_("Area and access; * stands for all."),
    )
    allowed_networks = ArrayField(
        models.CharField(max_length=50),
        default=list,
        blank=True,
        validators=[validate_networks],
        verbose_name=_("allowed networks"),
        help_text=_("Networks (CIDR) it may call from, separated by commas; empty for any."),
    )
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    rate_limit = models.PositiveIntegerField(
        _("requests per minute"),
        null=True,
        blank=True,
        help_text=_("Empty for the service's own limit; 0 for none."),
    )
    last_used_at = models.DateTimeField(_("last used"), null=True, editable=False)
    # An empty string matches no secret, because a hash has 64 characters.
    secret_hash = models.CharField(max_length=64, blank=True, editable=False)
    previous_secret_hash = models.CharField(max_length=64, blank=True, editable=False)
    previous_secret_expires_at = models.DateTimeField(_("previous secret works until"), null=True, editable=False)
    # A password chosen by an operator needs a slow hash.
    password = models.CharField(max_length=128, blank=True, editable=False)

    class Meta:
        verbose_name = _("API user")
        verbose_name_plural = _("API users")
        ordering = ["login"]
        constraints = [
            models.CheckConstraint(
                name="apiuser_login_is_basic",
                # RFC 7617: the login of Basic authentication contains no colon.
                condition=~models.Q(login__contains=":") & ~models.Q(login=""),
                violation_error_message=_("A login has no colon."),
            )
        ]

    def __str__(self) -> str:
        return self.login

    @property
    def actor(self) -> Actor:
        return Actor("api_user", self.pk, self.login)

    @classmethod
    def create(cls, actor: Actor, login: str, password: str = "", **values: Any) -> tuple["ApiUser", str]:
        """Create an API user; return it with its secret, which cannot be read again ("" if a password was given
        instead).
        """
        secret = "" if password else secrets.token_urlsafe(32)
        user = cls(login=login, **values)
        if password:
            user.password = make_password(password)
        else:
            user.secret_hash = hash_secret(secret)
        user.full_clean()
        with transaction.atomic():
            user.save(force_insert=True)
            user._log(actor, "create", {name: [None, in_history(value)] for name, value in values.items()})
        return user, secret

    def edit(self, actor: Actor, **values: Any) -> None:
        """Change rights, networks, expiry, description, rate limit or the active flag. Raise ValidationError."""
        with transaction.atomic():
            locked = ApiUser.objects.select_for_update(no_key=True).get(pk=self.pk)
            changes = differences(locked, values)
            for name, value in values.items():
                setattr(self, name, value)
            self.full_clean()
            if changes:
                self.save(update_fields=[*changes, "updated_at"])
                self._log(actor, "edit", changes)

    def rotate_secret(self, actor: Actor, overlap: timedelta = timedelta(hours=24), version: str = "") -> str:
        """Make and return a new secret. The old one works until the overlap is over; a password ends at once.

        Raise Outdated if the user has another version: after two rotations at once, one of the new secrets would be
        dead.
        """
        secret = secrets.token_urlsafe(32)
        with transaction.atomic():
            locked = ApiUser.objects.select_for_update(no_key=True).get(pk=self.pk)
            if version and version != locked.version:
                raise Outdated
            store_edit(
                self,
                password="",
                secret_hash=hash_secret(secret),
                previous_secret_hash=locked.secret_hash,
                previous_secret_expires_at=timezone.now() + overlap if locked.secret_hash else None,
            )
            self._log(actor, "rotate_secret", {})
        return secret

    def set_password(self, actor: Actor, password: str) -> None:
        """Set a password of the operator's choice as the only credential."""
        with transaction.atomic():
            no_secret = {"secret_hash": "", "previous_secret_hash": "", "previous_secret_expires_at": None}
            store_edit(self, password=make_password(password), **no_secret)
            self._log(actor, "set_password", {})

    def _log(self, actor: Actor, action: str, changes: dict[str, Any]) -> None:
        self.changes.create(action=action, changes=changes, **change_columns(actor))


class ApiUserChange(Change):
    """A change of an API user: created, edited, secret rotated, password set; with the person who made it."""

    api_user = models.ForeignKey(
        ApiUser, models.DO_NOTHING, db_constraint=False, related_name="changes", verbose_name=_("API user")
    )

    class Meta:
        verbose_name = _("change of an API user")
        verbose_name_plural = _("changes of API users")
        ordering = ["-id"]


class IdempotencyRecord(models.Model):
    """The answer to a POST with an Idempotency-Key, written in the transaction of the work itself.

    The row is inserted before the work: a second request with the key waits on the unique index. It is committed with
    the work and the answer, or not at all.
    """

    api_user = models.ForeignKey(ApiUser, models.CASCADE, db_index=False)
    # SHA-256 of method, path and key: a path is too long for an index.
    fingerprint = models.CharField(max_length=64)
    # Of the body, or of query and body if there is a query.
    body_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    # Encrypted, because an answer can contain a secret.
    answer = models.BinaryField(default=b"")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["api_user", "fingerprint"], name="idempotencyrecord_is_unique")]
        indexes = [models.Index(fields=["created_at"], name="idempotencyrecord_created_at")]

    def __str__(self) -> str:
        return self.fingerprint


def _account(realm: str, login: str) -> "User | ApiUser | None":
    if realm == Lockout.Realm.API:
        return ApiUser.objects.filter(login=login).first()
    return User.objects.filter(username=login).first()


class LockoutQuerySet(models.QuerySet["Lockout"]):
    def over(self) -> "LockoutQuerySet":
        return self.filter(until__lte=timezone.now())

    def lock(self, realm: str, source: str, login: str, until: datetime) -> None:
        """Lock out a login from this address, or all logins ("").

        The audit log names the login only if it is one: people also type passwords into its field.
        """
        with transaction.atomic():
            self.update_or_create(realm=realm, source=source, login=login[:255], defaults={"until": until})
            if account := _account(realm, login):
                record(SYSTEM, AuditAction.LOCK_OUT, account, name=login, changes={"address": [None, source]})

    def until(self, realm: str, source: str, login: str) -> datetime | None:
        """Return the end of the lockout in force, or None."""
        locked = self.filter(realm=realm, source=source, login__in=["", login[:255]], until__gt=timezone.now())
        return locked.order_by("-until").values_list("until", flat=True).first()


@audited(secret=("login",))  # people also type passwords there
class Lockout(models.Model):
    """The refusal of log-ins from an address after too many wrong ones: for one login or for all ("")."""

    class Realm(models.TextChoices):
        API = "api", _("API")
        ADMIN = "admin", _("admin")

    realm = models.CharField(_("door"), max_length=10, choices=Realm)
    source = models.CharField(_("address"), max_length=50)
    login = models.CharField(_("login"), max_length=255, blank=True)
    until = models.DateTimeField(_("until"))

    objects = LockoutQuerySet.as_manager()

    class Meta:
        verbose_name = _("lockout")
        verbose_name_plural = _("lockouts")
        ordering = ["-until", "-id"]
        constraints = [models.UniqueConstraint(fields=["source", "realm", "login"], name="lockout_is_unique")]

    def __str__(self) -> str:
        return self.source


class Heartbeat(models.Model):
    """The last heartbeat of a process: a leading beat or listener, a dialler, or the worker of a queue."""

    # "beat", "listener", "dialler" or the name of a queue.
    process = models.CharField(max_length=40)
    # Host and process id.
    name = models.CharField(max_length=300)
    beat_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["process", "name"], name="heartbeat_is_unique")]

    def __str__(self) -> str:
        return f"{self.process} {self.name}"


# Models of this app that are defined in other modules.
from callcentre.core.deletions import Deletion  # noqa: E402, F401
from callcentre.core.file_removals import FileRemoval  # noqa: E402, F401
from callcentre.core.file_store import FileStore  # noqa: E402, F401
from callcentre.core.legal_holds import LegalHold  # noqa: E402, F401
from callcentre.core.person_exports import PersonExport  # noqa: E402, F401
from callcentre.core.retention import Retention  # noqa: E402, F401
