from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.scope import Lookups


class SystemStatus(models.TextChoices):
    """The dialler's treatment of a record. Each status of a campaign has one of these."""

    TO_CALL = "TO_CALL", _("To be called")
    IN_PROGRESS = "IN_PROGRESS", _("In progress")
    CALL = "CALL", _("Call")
    MY_RECORD = "MY_RECORD", _("Agent's own record")
    NO_CALL = "NO_CALL", _("Do not call")
    ABANDONED_AFTER_N_TRIES = "ABANDONED_AFTER_N_TRIES", _("Rejected after n tries")
    CALL_NO_SOONER_THAN = "CALL_NO_SOONER_THAN", _("Call no sooner than")
    CALL_PROGRESSIVE = "CALL_PROGRESSIVE", _("Call in progressive mode")

    @classmethod
    def needing_agent(cls) -> set[str]:
        return {cls.MY_RECORD.value}

    @classmethod
    def needing_next_call(cls) -> set[str]:
        return {cls.MY_RECORD.value, cls.CALL_NO_SOONER_THAN.value}

    @classmethod
    def obeying_next_call(cls) -> set[str]:
        """Return the statuses of records that are not called before their next call time, if they have one."""
        return cls.needing_next_call() | {cls.CALL_PROGRESSIVE.value}

    @classmethod
    def untimed(cls) -> list[str]:
        """Return the statuses of records that are called in their order and need no time."""
        return [cls.CALL.value, cls.CALL_PROGRESSIVE.value, cls.TO_CALL.value]

    @classmethod
    def completed(cls) -> set[str]:
        """Return the statuses of records that are not called any more."""
        return {cls.NO_CALL.value, cls.ABANDONED_AFTER_N_TRIES.value}


@audited()
class DictionaryStatus(models.Model):
    """An entry of the dictionary that all campaigns share: a new campaign gets one status for each entry."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    system_status = models.CharField(_("system status"), max_length=30, choices=SystemStatus)
    order = models.PositiveIntegerField(_("order"), default=50)
    # The entries that the service uses itself: contacted, wrong_number, call_later. "" for all others.
    key = models.CharField(max_length=20, blank=True, default="", db_default="", editable=False)
    is_success = models.BooleanField(_("success"), default=False, db_default=False)
    is_wrong_number = models.BooleanField(_("wrong number"), default=False, db_default=False)

    class Meta:
        verbose_name = _("dictionary status")
        verbose_name_plural = _("dictionary statuses")
        ordering = ["order", "id"]
        constraints = [
            models.CheckConstraint(
                name="dictionarystatus_system_status_is_known",
                condition=models.Q(system_status__in=SystemStatus.values),
            )
        ]

    def __str__(self) -> str:
        return self.name


@audited(part_of="campaign")
class RecordStatus(models.Model):
    """A status that records of one campaign can have.

    Its system status never changes while records use it: they carry a copy of it, which the dialler reads.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_outbounds": "campaign_id"}

    campaign = models.ForeignKey(
        "campaigns.Campaign", models.CASCADE, related_name="statuses", verbose_name=_("campaign")
    )
    name = models.CharField(_("name"), max_length=100)
    system_status = models.CharField(_("system status"), max_length=30, choices=SystemStatus)
    dictionary_status = models.ForeignKey(
        DictionaryStatus,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="record_statuses",
        verbose_name=_("dictionary status"),
    )
    order = models.PositiveIntegerField(_("order"), default=50)
    is_success = models.BooleanField(_("success"), default=False, db_default=False)
    is_wrong_number = models.BooleanField(
        _("wrong number"), default=False, db_default=False, help_text=_("The number is not called again.")
    )

    class Meta:
        verbose_name = _("status")
        verbose_name_plural = _("statuses")
        ordering = ["order", "id"]
        constraints = [
            models.CheckConstraint(
                name="recordstatus_system_status_is_known",
                condition=models.Q(system_status__in=SystemStatus.values),
            ),
            models.UniqueConstraint(
                fields=["campaign", "name"],
                name="recordstatus_name_is_unique",
                violation_error_message=_("The campaign already has a status of this name."),
            ),
            models.UniqueConstraint(
                fields=["campaign", "dictionary_status"],
                name="recordstatus_dictionary_status_is_unique",
                violation_error_message=_("The campaign already has a status for this dictionary status."),
            ),
        ]

    def __str__(self) -> str:
        return self.name
