"""People who log in by the provider of OpenID Connect: their groups there, who they are there, and their log-ins."""

from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.encryption import EncryptedTextField
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from callcentre.models import ScopeColumns

# The groups of a person at the provider are read again after this time.
CHECKED_AFTER = timedelta(minutes=15)
LONGEST_SUBJECT = 255


@audited()
class ProviderGroup(ScopeColumns):
    """A group at the provider, with the roles and the scope of its members here.

    Who is in several groups has the roles of all, and sees the rows of each.
    """

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    name = models.CharField(
        _("name"), max_length=200, unique=True, help_text=_("As the provider sends it, letter for letter.")
    )
    groups = models.ManyToManyField(Group, verbose_name=_("roles"), related_name="+")

    class Meta:
        verbose_name = _("group at the provider")
        verbose_name_plural = _("groups at the provider")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


audited(part_of="providergroup")(ProviderGroup.groups.through)


@audited()
class ProviderIdentity(models.Model):
    """The person at the provider that a user is. Such a user has no password here."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="provider_identity")
    issuer = models.CharField(max_length=300)
    # The provider never gives it to another person; names and addresses change.
    subject = models.CharField(max_length=LONGEST_SUBJECT)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = _("identity at the provider")
        verbose_name_plural = _("identities at the provider")
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="provideridentity_is_unique")]

    def __str__(self) -> str:
        return self.subject


class ProviderSession(models.Model):
    """A log-in by the provider, which a worker checks again at `check_at`. Its sessions end with the row."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="provider_sessions")
    # The provider's name of the log-in, in the message by which it ends one (OpenID Connect Back-Channel Logout 1.0).
    sid = models.CharField(max_length=255, blank=True)
    access_token = EncryptedTextField(editable=False)
    refresh_token = EncryptedTextField(editable=False, blank=True)
    # The provider wants it back at the log-out.
    id_token = EncryptedTextField(editable=False)
    check_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["check_at"], name="providersession_check_at"),
            models.Index(fields=["sid"], name="providersession_sid"),
        ]

    def __str__(self) -> str:
        return str(self.pk)
