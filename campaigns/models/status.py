from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

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

    @property
    def meaning(self) -> str:
        """The consequence for a record, in words for the agent who chooses a result."""
        return str(_MEANINGS.get(self, ""))

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


_MEANINGS = {
    SystemStatus.TO_CALL: _("called after all others, like a new record"),
    SystemStatus.CALL: _("called before all others"),
    SystemStatus.MY_RECORD: _("called by you at the chosen time"),
    SystemStatus.NO_CALL: _("not called any more"),
    SystemStatus.ABANDONED_AFTER_N_TRIES: _("given up, not called any more"),
    SystemStatus.CALL_NO_SOONER_THAN: _("called after the chosen time"),
    SystemStatus.CALL_PROGRESSIVE: _("called again, when an agent is ready for it"),
}
# The installed statuses. People read their names in their language, until a status gets another name. Programs, files
# and the history use the name itself.
SYSTEM_NAMES = {
    "To be called": SystemStatus.TO_CALL.label,
    "In progress": SystemStatus.IN_PROGRESS.label,
    "Call": SystemStatus.CALL.label,
    "Own record": pgettext_lazy("result of a call", "Own record"),
    "Do not call": SystemStatus.NO_CALL.label,
    "Rejected after n tries": SystemStatus.ABANDONED_AFTER_N_TRIES.label,
    "Call no sooner than": SystemStatus.CALL_NO_SOONER_THAN.label,
    "Call in progressive mode": SystemStatus.CALL_PROGRESSIVE.label,
}
_INSTALLED = {
    **SYSTEM_NAMES,
    "Contacted": pgettext_lazy("result of a call", "Contacted"),
    "Wrong number": pgettext_lazy("result of a call", "Wrong number"),
    "Call later": pgettext_lazy("result of a call", "Call later"),
}


def as_read(name: str, system_status: str = "") -> str:
    """Return the name of a status, or without one that of its system status, in the language of the reader."""
    return str(_INSTALLED.get(name, name) if name else dict(SystemStatus.choices).get(system_status, system_status))


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
        return as_read(self.name)


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
        return as_read(self.name)
