"""Changes of campaigns, their groups and their agents."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Max

from callcentre.core.actor import Actor
from callcentre.core.advisory_locks import lock_until_commit
from callcentre.core.changes import copy_of, store
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.file_removals import FileRemoval
from campaigns import events
from campaigns.models import (
    Campaign,
    CampaignField,
    CampaignGroup,
    DictionaryStatus,
    FormerCode,
    RecordStatus,
    RetryRule,
)
from campaigns.models.campaign import faults_of_caller_id
from campaigns.scripts import unknown_fields
from telephony import sounds
from telephony.models import Agent

logger = logging.getLogger(__name__)

# The key of our advisory lock; no other lock uses the number.
_CODE_LOCK = 7_301
# Those of generated codes.
_NUMBERS = range(1, 100_000)
# Columns that a clone does not take over, beside the key. `_clone_rules` and `_clone_message` set two of them.
_OWN = {"id", "code", "name", "start_date", "end_date", "is_dialling", "zone_field_id", "drop_message"}
_OWN |= {"created_at", "updated_at"}
_CLONED = [field.attname for field in Campaign._meta.concrete_fields if field.attname not in _OWN]


def create_group(actor: Actor, name: str, faults: Sequence[Fault] = ()) -> CampaignGroup:
    """Create a group. Raises Invalid with the given faults."""
    if faults:
        raise Invalid(faults)
    return CampaignGroup.objects.create(name=name)


def create_campaign(
    actor: Actor, faults: Sequence[Fault] = (), field_names: Sequence[str] = (), **values: Any
) -> Campaign:
    """Create a campaign with these fields and one status for each dictionary entry.

    Raises Invalid with the given and its own faults.
    """
    with transaction.atomic():
        of_fields = _faults_of_fields(field_names, is_crm=bool(values.get("is_crm")))
        faults = [*faults, *of_fields, *faults_of_caller_id(values.get("caller_id"))]
        campaign = _insert(values, [*faults, *_faults_of_script(values.get("script"), field_names)])
        _add_fields(campaign, field_names)
        RecordStatus.objects.bulk_create(
            RecordStatus(
                campaign=campaign,
                name=entry.name,
                system_status=entry.system_status,
                dictionary_status=entry,
                order=entry.order,
                is_success=entry.is_success,
                is_wrong_number=entry.is_wrong_number,
            )
            for entry in DictionaryStatus.objects.all()
        )
        events.campaign_created(campaign.code, campaign.name)
    return campaign


def clone_campaign(source: Campaign, actor: Actor, faults: Sequence[Fault] = (), **values: Any) -> Campaign:
    """Create a campaign with the source's settings, group, fields, statuses, rules, agents and message of drops.

    It has none of the source's records and dates, and its dialling is paused.

    Raises Invalid with the given and its own faults.
    """
    with transaction.atomic():
        copied = {name: getattr(source, name) for name in _CLONED}
        copied["ignores_hours"] = source.ignores_hours and _may_ignore_hours()
        campaign = _insert({**copied, **values}, [*faults, *faults_of_caller_id(values.get("caller_id"))])
        for name in ("fields", "statuses", "hours"):
            rows: Any = getattr(source, name)
            rows.model.objects.bulk_create(copy_of(row, campaign_id=campaign.pk) for row in rows.all())
        _clone_rules(source, campaign)
        _clone_message(source, campaign)
        _link_agents(campaign, source.agents.values_list("pk", flat=True))
        events.campaign_created(campaign.code, campaign.name)
    return campaign


def _clone_rules(source: Campaign, campaign: Campaign) -> None:
    """Copy the rules of retries and the choice of the field with the zone."""
    rules = list(source.retry_rules.select_related("status"))
    of_statuses = any(rule.status for rule in rules)
    statuses = dict(campaign.statuses.order_by().values_list("name", "pk")) if of_statuses else {}
    RetryRule.objects.bulk_create(
        copy_of(rule, campaign_id=campaign.pk, status_id=statuses[rule.status.name] if rule.status else None)
        for rule in rules
    )
    if source.zone_field:
        store(campaign, zone_field=campaign.fields.get(name=source.zone_field.name))


def _clone_message(source: Campaign, campaign: Campaign) -> None:
    """Copy the file of the message of dropped calls: each campaign removes its own."""
    if not source.drop_message.name:
        return
    try:
        with default_storage.open(source.drop_message.name) as file:
            sound = file.read()
    except FileNotFoundError:
        logger.warning("the message of a campaign is lost", extra={"file": source.drop_message.name})
        return
    sounds.store(campaign.drop_message, sound)
    campaign.save(update_fields=["drop_message"])


def edit_campaign(
    campaign: Campaign, actor: Actor, faults: Sequence[Fault] = (), field_names: Sequence[str] = (), **values: Any
) -> None:
    """Change settings or parameters; `code` is not among them. Fields are added, and none is removed.

    Raises Invalid with the given and its own faults.
    """
    with transaction.atomic():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        zone_field, caller_id = locked.zone_field_id, locked.caller_id
        script = values.get("script")
        known = set(locked.fields.values_list("name", flat=True)) if field_names or script else set()
        new_fields = [name for name in field_names if name not in known]
        empty = [name for name, value in values.items() if value is None and not Campaign._meta.get_field(name).null]
        for name in values.keys() - set(empty):
            setattr(locked, name, values[name])
        faults = [*faults, *(Fault(ErrorCode.EMPTY, name) for name in empty), *locked.faults(faults)]
        if locked.caller_id != caller_id:
            faults += faults_of_caller_id(locked.caller_id)
        faults += [*_faults_of_hours(values), *_faults_of_fields(new_fields, is_crm=locked.is_crm)]
        if faults := [*faults, *_faults_of_script(script, [*known, *new_fields])]:
            raise Invalid(faults)
        _add_fields(locked, new_fields)
        locked.save(update_fields=[*values, "updated_at"])
        if locked.zone_field_id != zone_field:
            enqueue("campaigns.fill_zones", campaign.pk)
    campaign.refresh_from_db()


def add_agents(campaign: Campaign, actor: Actor, logins: Iterable[str], faults: Sequence[Fault] = ()) -> None:
    """Assign these agents to the campaign; the others stay. Raises Invalid for an unknown login: none is added."""
    _link_agents(campaign, _agent_ids(logins, faults))


def remove_agents(campaign: Campaign, actor: Actor, logins: Iterable[str], faults: Sequence[Fault] = ()) -> None:
    """Take these agents out of the campaign. Raises Invalid for an unknown login: none is taken out."""
    ids = _agent_ids(logins, faults)
    Campaign.agents.through.objects.filter(campaign_id=campaign.pk, agent_id__in=ids).delete()


def remove_campaign(campaign: Campaign, actor: Actor) -> None:
    """Delete a campaign with its statuses, fields and message of drops. Raises Conflict if it has records."""
    with transaction.atomic():
        # The insert of a record locks its campaign against this lock: its record is seen here, or it comes too late.
        locked = Campaign.objects.select_for_update().get(pk=campaign.pk)
        if campaign.records.exists():
            raise Conflict(ErrorCode.CAMPAIGN_HAS_RECORDS)
        FileRemoval.add([locked.drop_message.name or ""])
        FormerCode.objects.bulk_create([FormerCode(code=locked.code)], ignore_conflicts=True)
        campaign.delete()


def _insert(values: dict[str, Any], faults: Sequence[Fault]) -> Campaign:
    campaign = Campaign(**values)
    faults = [*faults, *campaign.faults(faults), *_faults_of_hours(values)]
    if campaign.code and Campaign.objects.filter(code=campaign.code).exists():
        faults.append(Fault(ErrorCode.CAMPAIGN_ID_TAKEN, "code"))
    if faults:
        raise Invalid(faults)
    campaign.code = campaign.code or _free_code()
    campaign.save(force_insert=True)
    return campaign


def _faults_of_fields(names: Sequence[str], *, is_crm: bool) -> list[Fault]:
    return [Fault(ErrorCode.FIELDS_IN_CRM, "field_names")] if is_crm and names else []


def _faults_of_script(script: str | None, field_names: Iterable[str]) -> list[Fault]:
    unknown = unknown_fields(script or "", field_names)
    return [Fault(ErrorCode.SCRIPT_FIELD_UNKNOWN, "script", {"name": name}) for name in unknown]


def _add_fields(campaign: Campaign, names: Sequence[str]) -> None:
    """Add new fields behind the campaign's others. The campaign is new, or its row is locked."""
    if not names:
        return
    first = (campaign.fields.aggregate(last=Max("order"))["last"] or 0) + 1
    CampaignField.objects.bulk_create(
        CampaignField(campaign=campaign, name=name, order=order)
        for order, name in enumerate(dict.fromkeys(names), first)
    )


def _may_ignore_hours() -> bool:
    return bool(settings.SWITCH_BACKEND == "simulated")


def _faults_of_hours(values: dict[str, Any]) -> list[Fault]:
    """Return the fault of a campaign that is to ignore hours while calls reach real people."""
    if values.get("ignores_hours") and not _may_ignore_hours():
        return [Fault(ErrorCode.HOURS_BIND, "ignores_hours")]
    return []


def _free_code() -> str:
    """Return the lowest number that no campaign has or had.

    The lock until the commit gives two requests at once two numbers.
    """
    lock_until_commit(_CODE_LOCK)
    codes, former = (model.objects.order_by().values_list("code", flat=True) for model in (Campaign, FormerCode))
    taken = set(codes.union(former))
    for number in _NUMBERS:
        if (code := f"{number:05}") not in taken:
            return code
    raise Invalid([Fault(ErrorCode.CAMPAIGN_IDS_EXHAUSTED, "code")])


def _agent_ids(logins: Iterable[str], faults: Sequence[Fault]) -> list[int]:
    wanted = list(dict.fromkeys(logins))
    ids = Agent.objects.ids_by_login(wanted)
    unknown = [login for login in wanted if login not in ids]
    if unknown:
        faults = [*faults, Fault(ErrorCode.AGENTS_NOT_FOUND, "logins", {"logins": ", ".join(unknown)})]
    if faults:
        raise Invalid(faults)
    return list(ids.values())


def _link_agents(campaign: Campaign, agent_ids: Iterable[int]) -> None:
    through = Campaign.agents.through
    through.objects.bulk_create(
        [through(campaign_id=campaign.pk, agent_id=agent_id) for agent_id in agent_ids], ignore_conflicts=True
    )
