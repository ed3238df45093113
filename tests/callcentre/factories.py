"""Users of all kinds, and what is kept about their requests."""

import base64
import time
from datetime import timedelta
from functools import cache
from typing import Any

import factory
from django.contrib.auth.hashers import get_hasher, make_password
from django.contrib.auth.models import Group
from django.utils import timezone
from django_otp.oath import TOTP

from callcentre.core.actor import SYSTEM
from callcentre.core.audit import AuditEntry, AuditLog
from callcentre.core.deletions import Deletion
from callcentre.core.file_removals import FileRemoval
from callcentre.core.file_store import FileStore
from callcentre.core.legal_holds import LegalHold
from callcentre.core.person_exports import PersonExport
from callcentre.core.personal_data import Person
from callcentre.core.retention import Retention
from callcentre.models import ApiUser, ApiUserChange, Heartbeat, IdempotencyRecord, Lockout, User, hash_secret
from callcentre.signin.models import (
    PasswordReset,
    ProviderGroup,
    ProviderIdentity,
    ProviderSession,
    RecoveryCode,
    SecondFactor,
    UserSession,
)
from tests.model_factory import ModelFactory


def hashed(password: str) -> str:
    """Hash a password once for all users: a slow hash takes a third of a second."""
    return _hashed(password, get_hasher().algorithm)


@cache
def _hashed(password: str, algorithm: str) -> str:
    return make_password(password, hasher=algorithm)


class UserFactory(ModelFactory[User]):
    username = factory.Sequence(lambda n: f"user-{n}")
    password = factory.django.Password("user-pass", transform=hashed)

    class Params:
        staff = factory.Trait(is_staff=True)
        admin = factory.Trait(is_staff=True, is_superuser=True)


class ApiUserFactory(ModelFactory[ApiUser]):
    """An API user with an unknown generated secret; use `ApiUser.create` to log in."""

    login = factory.Sequence(lambda n: f"api-user-{n}")

    @classmethod
    def _create(cls, model_class: type[ApiUser], *args: Any, **kwargs: Any) -> ApiUser:
        return model_class.create(SYSTEM, **kwargs)[0]


class ApiUserChangeFactory(ModelFactory[ApiUserChange]):
    api_user = factory.SubFactory(ApiUserFactory)
    actor_kind = "system"
    actor_name = "system"
    action = "edit"


class IdempotencyRecordFactory(ModelFactory[IdempotencyRecord]):
    api_user = factory.SubFactory(ApiUserFactory)
    fingerprint = factory.Sequence(lambda n: f"{n:064}")
    body_hash = "0" * 64
    status = 201


class FileStoreFactory(ModelFactory[FileStore]):
    mark = factory.Faker("uuid4")


class HeartbeatFactory(ModelFactory[Heartbeat]):
    process = "beat"
    name = factory.Sequence(lambda n: f"host:{n}")
    beat_at = factory.LazyFunction(timezone.now)

    class Params:
        silent = factory.Trait(beat_at=factory.LazyFunction(lambda: timezone.now() - timedelta(minutes=1)))


class LockoutFactory(ModelFactory[Lockout]):
    realm = Lockout.Realm.API
    source = factory.Sequence(lambda n: f"192.0.2.{n % 256}")
    login = factory.Sequence(lambda n: f"login-{n}")
    until = factory.LazyFunction(lambda: timezone.now() + timedelta(minutes=5))

    class Params:
        over = factory.Trait(until=factory.LazyFunction(lambda: timezone.now() - timedelta(seconds=1)))


class DeletionFactory(ModelFactory[Deletion]):
    kind = "ticket"
    object_id = factory.Sequence(lambda n: str(n + 1))
    reason = "request of 21 November"
    actor_kind = "user"
    actor_name = "tester"
    next_attempt_at = factory.LazyFunction(timezone.now)

    class Params:
        finished = factory.Trait(state="finished", next_attempt_at=None, finished_at=factory.LazyFunction(timezone.now))
        failed = factory.Trait(
            state="failed",
            next_attempt_at=None,
            finished_at=factory.LazyFunction(timezone.now),
            error="OperationalError",
        )


class FileRemovalFactory(ModelFactory[FileRemoval]):
    path = factory.Sequence(lambda n: f"files/2026/11/21/{n}")


class PersonExportFactory(ModelFactory[PersonExport]):
    actor_kind = "user"
    actor_name = "tester"
    person = Person().text


class LegalHoldFactory(ModelFactory[LegalHold]):
    kind = LegalHold.Kind.CUSTOMER
    object_id = factory.Sequence(lambda n: n + 1)
    reason = "case 12"


class RetentionFactory(ModelFactory[Retention]):
    kind = factory.Sequence(lambda n: f"kind{n}")


class SecondFactorFactory(ModelFactory[SecondFactor]):
    """The confirmed second factor of a user; `code_of` makes its codes."""

    user = factory.SubFactory(UserFactory, staff=True)
    confirmed = True


class RecoveryCodeFactory(ModelFactory[RecoveryCode]):
    user = factory.SubFactory(UserFactory, staff=True)
    digest = factory.Sequence(lambda n: hash_secret(f"code{n}"))


class UserSessionFactory(ModelFactory[UserSession]):
    session_key = factory.Sequence(lambda n: f"session{n}")
    expire_date = factory.LazyFunction(lambda: timezone.now() + timedelta(hours=12))


class PasswordResetFactory(ModelFactory[PasswordReset]):
    typed = factory.Sequence(lambda n: f"user-{n}")
    source = "192.0.2.1"
    site = "https://callcentre.example"
    language = "en"


class ProviderGroupFactory(ModelFactory[ProviderGroup]):
    name = factory.Sequence(lambda n: f"group-{n}")

    @factory.post_generation  # type: ignore[untyped-decorator]
    def roles(self, create: bool, names: list[str] | None, **_unused: Any) -> None:
        """The names of the roles of its members."""
        self.groups.set(Group.objects.filter(name__in=names or []))


class ProviderIdentityFactory(ModelFactory[ProviderIdentity]):
    user = factory.SubFactory(UserFactory, staff=True)
    issuer = "https://provider.example"
    subject = factory.Sequence(lambda n: f"subject-{n}")


class ProviderSessionFactory(ModelFactory[ProviderSession]):
    user = factory.SubFactory(UserFactory, staff=True)
    access_token = id_token = "a token"
    check_at = factory.LazyFunction(timezone.now)


def code_of(factor: SecondFactor, steps: int = 0) -> str:
    """Return the code that the app shows now, or so many steps of 30 seconds later."""
    totp = TOTP(base64.b32decode(factor.key))
    totp.time = time.time() + steps * 30
    return f"{totp.token():06}"


class AuditEntryFactory(ModelFactory[AuditEntry]):
    actor_kind = "user"
    actor_name = "tester"
    action = "edit"
    model = "telephony.pause"
    object_id = factory.Sequence(lambda n: str(n + 1))


class AuditLogFactory(ModelFactory[AuditLog]):
    """The rows of a view: make an AuditEntry instead."""

    class Meta:
        model = AuditLog
        abstract = True
