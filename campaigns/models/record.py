from typing import ClassVar

from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now, Reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.changes import Change
from callcentre.core.scope import Lookups
from campaigns.models.campaign import Campaign
from campaigns.models.status import RecordStatus, SystemStatus
from telephony.models import Agent

# SQL: a dialler, a preview or a call holds the record `r`.
IS_LEASED = "(r.leased_by <> '' AND (r.leased_until IS NULL OR r.leased_until > now()))"


class Record(models.Model):
    """A phone number to be called in one campaign.

    `phone_number` is the number as it was sent, `number` its normal form for searches and comparisons. The first
    record of a number is the primary one; the API adds no second, an import may. Only the verbs change
    `system_status`; MY_RECORD always has an agent and a next call time. A record leased by a call cannot be edited.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_outbounds": "campaign_id"}

    campaign = models.ForeignKey(
        Campaign, models.CASCADE, related_name="records", db_index=False, verbose_name=_("campaign")
    )
    phone_number = models.CharField(_("phone number"), max_length=100)
    number = models.CharField(_("normal form"), max_length=64, editable=False)
    is_primary = models.BooleanField(_("first of its number"), default=True, editable=False)
    # NULL: the campaign had no status for TO_CALL when the record was added.
    status = models.ForeignKey(
        RecordStatus,
        models.PROTECT,
        null=True,
        related_name="records",
        db_index=False,
        verbose_name=_("status"),
    )
    system_status = models.CharField(
        _("system status"), max_length=30, choices=SystemStatus, default=SystemStatus.TO_CALL, editable=False
    )
    identifier = models.CharField(_("identifier"), max_length=100, blank=True)
    agent = models.ForeignKey(
        Agent,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="records",
        db_index=False,
        verbose_name=_("agent"),
    )
    next_call_at = models.DateTimeField(_("next call"), null=True, blank=True)
    called_at = models.DateTimeField(_("last call"), null=True, editable=False)
    order = models.IntegerField(
        _("order"),
        null=True,
        blank=True,
        help_text=_("The record with the lowest number is dialled first. Records without a number come last."),
    )
    last_note = models.TextField(_("last note"), blank=True)
    # Primary key of the CampaignField, as a string -> text. Fields without a value are absent.
    fields = models.JSONField(_("fields"), default=dict, blank=True)
    # The dialler, preview or call that holds the record; "" if none does. A reservation ends at `leased_until`. A call
    # holds the record, without such an end, until the call is settled.
    leased_by = models.CharField(max_length=50, blank=True, editable=False)
    leased_until = models.DateTimeField(null=True, editable=False)
    # IANA names of the callee's time zones, separated by blanks. All of them must allow a call. "": TIME_ZONE.
    # UNREADABLE (callcentre/core/phone_zones.py): not callable.
    zone = models.CharField(_("time zone"), max_length=1000, blank=True, default="", db_default="", editable=False)
    # Of `number`, as "48"; "" for an extension. Legal hours hold for numbers of a country.
    calling_code = models.CharField(max_length=3, blank=True, default="", db_default="", editable=False)
    # The dialler passes over the record until then, for example as its number is on a do-not-call list. Edits erase it:
    # a delay that must last is in `next_call_at`.
    held_until = models.DateTimeField(null=True, editable=False)
    # After a dropped call the record is only called with an agent guaranteed until then.
    one_to_one_until = models.DateTimeField(null=True, editable=False)
    is_number_wrong = models.BooleanField(_("wrong number"), default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("record")
        verbose_name_plural = _("records")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "number"], condition=Q(is_primary=True), name="record_number_is_unique"
            ),
            models.UniqueConstraint(
                fields=["campaign", "identifier"], condition=~Q(identifier=""), name="record_identifier_is_unique"
            ),
            models.CheckConstraint(
                name="record_system_status_is_known", condition=Q(system_status__in=SystemStatus.values)
            ),
            models.CheckConstraint(
                name="record_of_agent_has_agent_and_time",
                condition=~Q(system_status="MY_RECORD") | Q(agent__isnull=False, next_call_at__isnull=False),
            ),
            models.CheckConstraint(
                name="record_no_sooner_than_has_time",
                condition=~Q(system_status="CALL_NO_SOONER_THAN") | Q(next_call_at__isnull=False),
            ),
        ]
        indexes = [
            # The few records beside the primary one of their number.
            models.Index(fields=["campaign", "number"], condition=Q(is_primary=False), name="record_duplicates"),
            models.Index(fields=["campaign", "id"], name="record_in_campaign"),
            models.Index(fields=["-created_at", "-id"], name="record_created"),
            models.Index(fields=["campaign", "system_status", "id"], name="record_system_status"),
            models.Index(fields=["agent"], condition=Q(agent__isnull=False), name="record_agent"),
            # The dialler's choice: untimed records by order, timed ones by time, per zone and country.
            models.Index(
                fields=["campaign", "system_status", "zone", "calling_code", "order", "id"],
                condition=Q(system_status__in=SystemStatus.untimed(), held_until=None),
                name="record_to_dial",
            ),
            models.Index(
                fields=["campaign", "system_status", "zone", "calling_code", "next_call_at", "order", "id"],
                condition=Q(system_status__in=sorted(SystemStatus.needing_next_call()), held_until=None),
                name="record_by_time",
            ),
            models.Index(fields=["held_until"], condition=Q(held_until__isnull=False), name="record_held"),
            # For a search by the last digits, in all campaigns.
            models.Index(OpClass(Reverse("number"), name="text_pattern_ops"), name="record_ending"),
        ]

    def __str__(self) -> str:
        return self.phone_number

    @property
    def is_leased(self) -> bool:
        return bool(self.leased_by) and (self.leased_until is None or self.leased_until > timezone.now())


class AdditionalNumber(models.Model):
    """Another number of a record's person. Only a search in additional numbers finds it; it may repeat any number."""

    record = models.ForeignKey(
        Record, models.CASCADE, related_name="additional_numbers", db_index=False, verbose_name=_("record")
    )
    # A copy of the record's campaign, so that one index finds a number in a campaign.
    campaign = models.ForeignKey(Campaign, models.CASCADE, db_index=False, editable=False)
    phone_number = models.CharField(_("phone number"), max_length=100)
    number = models.CharField(_("normal form"), max_length=64, editable=False)
    is_wrong = models.BooleanField(_("wrong number"), default=False, db_default=False, editable=False)

    class Meta:
        verbose_name = _("additional number")
        verbose_name_plural = _("additional numbers")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["record", "number"], name="additionalnumber_is_unique"),
        ]
        indexes = [
            models.Index(fields=["campaign", "number"], name="additionalnumber_number"),
            models.Index(OpClass(Reverse("number"), name="text_pattern_ops"), name="additionalnumber_ending"),
        ]

    def __str__(self) -> str:
        return self.phone_number


# Actions on very many records.
BULK_ACTIONS = ("import", "recycle")


class RecordChange(Change):
    """A change of a record: the old and the new status, and the other fields that changed.

    Statuses are stored by name, so that the history stays the same after a status was renamed or removed.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_outbounds": "record__campaign_id"}
    bulk_actions = BULK_ACTIONS

    # No constraint in the database: it would cost an import one look-up for each row, and a change whose record was
    # deleted does no harm.
    record = models.ForeignKey(
        Record,
        models.CASCADE,
        related_name="history",
        db_constraint=False,
        db_index=False,
        verbose_name=_("record"),
    )
    from_status = models.CharField(_("from status"), max_length=100, blank=True)
    to_status = models.CharField(_("to status"), max_length=100, blank=True)
    from_system_status = models.CharField(max_length=30, blank=True)
    to_system_status = models.CharField(max_length=30, blank=True)

    class Meta:
        verbose_name = _("change of a record")
        verbose_name_plural = _("changes of records")
        ordering = ["-id"]
        indexes = [
            # The audit log has an entry for each import instead.
            models.Index(fields=["-at"], condition=~Q(action__in=BULK_ACTIONS), name="recordchange_of_log"),
            models.Index(fields=["record", "id"], name="recordchange_record"),
        ]
