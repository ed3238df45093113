"""The second factor of a back-office user, and the codes that stand in for a lost phone."""

import base64
import os
import time
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django_otp.models import Device, ThrottlingMixin
from django_otp.oath import TOTP

from callcentre.core.encryption import EncryptedTextField

if TYPE_CHECKING:
    from callcentre.models import User

ISSUER = "Call centre"
STEP_SECONDS = 30
DIGITS = 6
# A phone may be a step early or late.
TOLERANCE = 1
# Wrong codes that lengthen the wait: 2 to the power of 9 seconds at most.
MOST_COUNTED = 10


def new_key() -> str:
    """Return a new key of 160 bits in base32, as apps expect it."""
    return base64.b32encode(os.urandom(20)).decode()


class SecondFactorQuerySet(models.QuerySet["SecondFactor"]):
    def confirmed_of(self, user: "User") -> "SecondFactorQuerySet":
        return self.filter(user=user, confirmed=True)


class SecondFactor(ThrottlingMixin, Device):
    """The app on a person's phone that makes codes (TOTP, RFC 6238), with the key that it shares with the service.

    It counts only after a code has confirmed it. Each code works once: `last_step` is the time step of the last one.
    After each wrong code the next check waits twice as long (ThrottlingMixin), up to 512 seconds: a stranger who knows
    the password must not be able to lock the person out for good.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="second_factor")
    name = None
    confirmed = models.BooleanField(_("confirmed"), default=False)
    key = EncryptedTextField(_("key"), default=new_key, editable=False)
    last_step = models.BigIntegerField(default=-1, editable=False)
    created_at = models.DateTimeField(_("set up"), db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, editable=False)

    objects = SecondFactorQuerySet.as_manager()

    class Meta:
        verbose_name = _("second factor")
        verbose_name_plural = _("second factors")
        ordering = ["id"]
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.user)

    def get_throttle_factor(self) -> int:
        return 1

    @property
    def waiting_seconds(self) -> int:
        """The seconds until another code is compared; 0 if it is compared now."""
        counted: int = self.throttling_failure_count  # type: ignore[has-type]  # the mixin has no types
        self.throttling_failure_count = min(counted, MOST_COUNTED)
        is_allowed, facts = self.verify_is_allowed()
        if is_allowed:
            return 0
        locked_until: datetime = facts["locked_until"]
        return max(ceil((locked_until - timezone.now()).total_seconds()), 1)

    def verify_token(self, token: str) -> bool:
        """Compare a code of six digits. Lock the row before: two requests must not use one code."""
        if self.waiting_seconds:
            return False
        totp = TOTP(base64.b32decode(self.key), STEP_SECONDS, digits=DIGITS)
        totp.time = time.time()
        is_right: bool = totp.verify(int(token), TOLERANCE, self.last_step + 1)
        if is_right:
            self.last_step = totp.t()
            self.last_used_at = timezone.now()
            self.throttle_reset(commit=False)
        else:
            self.throttle_increment(commit=False)
        self.save(
            update_fields=["last_step", "last_used_at", "throttling_failure_timestamp", "throttling_failure_count"]
        )
        return is_right

    @property
    def address(self) -> str:
        """The address that the QR code holds, from which an app reads the key."""
        label = quote(f"{ISSUER}:{self.user}")
        facts: dict[str, Any] = {"secret": self.key, "issuer": ISSUER, "digits": DIGITS, "period": STEP_SECONDS}
        return f"otpauth://totp/{label}?{urlencode(facts, quote_via=quote)}"

    @property
    def key_in_groups(self) -> str:
        """The key in groups of four characters, for typing."""
        return " ".join(self.key[start : start + 4] for start in range(0, len(self.key), 4))


class RecoveryCode(models.Model):
    """A code that replaces the phone once. Its row is deleted when it is used, or when there is a new set.

    The code itself has 80 random bits and is shown once; the row has its SHA-256.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="recovery_codes", db_index=False)
    digest = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("recovery code")
        verbose_name_plural = _("recovery codes")
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="recoverycode_is_unique")]

    def __str__(self) -> str:
        return str(self.pk)
