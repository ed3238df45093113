"""The columns of a file and their targets: fields of records and of the campaign."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import phonenumbers

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.normal_forms import normalised
from callcentre.core.parsing import Reject
from callcentre.core.phone import is_region
from campaigns.models.record_fields import IMPORTED
from campaigns.models.rules import CampaignFacts

# Target of a column -> its label. Fields of the campaign ("field:<primary key>") are targets too.
TARGETS: Mapping[str, Any] = {name: field.import_label for name, field in IMPORTED.items()}
# Several columns may have this target; every other target has one column.
REPEATABLE = "additional_numbers"
_STATUSES = ("status", "status_id", "dictionary_status_id")
_SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "phone", "number", "telephone", "telephone_number", "tel", "mobile", "mobile_phone", "mobile_number",
            "msisdn", "telefon", "numer", "nr", "numer_telefonu", "nr_telefonu", "nr_tel", "tel_kom",
            "telefon_komorkowy", "komorka",
        ),
        "phone_number",
    ),
    **dict.fromkeys(("external_id", "identyfikator", "id_zewnetrzne", "id_klienta"), "identifier"),
    **dict.fromkeys(("status_name", "nazwa_statusu"), "status"),
    **dict.fromkeys(("id_statusu",), "status_id"),
    **dict.fromkeys(("dictionary_status", "status_slownikowy"), "dictionary_status_id"),
    **dict.fromkeys(("agent", "login", "user_login", "login_agenta", "konsultant"), "agent_login"),
    **dict.fromkeys(("next_call", "next_call_at", "nastepny_kontakt", "data_nastepnego_kontaktu"), "next_call_date"),
    **dict.fromkeys(("kolejnosc",), "order"),
    **dict.fromkeys(
        (
            "additional_number", "additional_phone", "other_numbers", "other_phone", "phone2", "phone_2", "phone3",
            "phone_3", "dodatkowe_numery", "dodatkowy_numer", "drugi_numer", "drugi_telefon", "telefon2", "telefon_2",
            "telefon3", "telefon_3",
        ),
        "additional_numbers",
    ),
}  # fmt: skip


def guess_columns(header: Sequence[str], campaign: CampaignFacts) -> dict[int, str]:
    """Return position -> target by the names in the header: our names, then the campaign's fields, then synonyms."""
    names = [simple_name(name) for name in header]
    fields = {} if campaign.is_crm else {simple_name(name): f"field:{key}" for name, key in campaign.fields.items()}
    explicit = {f"field:{name}": target for name, target in fields.items()}
    guessed: dict[int, str] = {}
    taken: set[str] = set()
    for known in (explicit, {target: target for target in TARGETS}, fields, _SYNONYMS):
        for position, name in enumerate(names):
            target = known.get(name)
            if target is None or position in guessed or (target in taken and target != REPEATABLE):
                continue
            if target in _STATUSES and not taken.isdisjoint(_STATUSES):
                continue
            guessed[position] = target
            taken.add(target)
    return dict(sorted(guessed.items()))


def columns_named(spec: str, header: Sequence[str], campaign: CampaignFacts) -> dict[int, str]:
    """Return position -> target from `phone_number,,city` (by position) or `Telefon=phone_number,Miasto=city`.

    Raises Invalid.
    """
    by_name = {simple_name(name): position for position, name in reversed([*enumerate(header)])}
    columns: dict[int, str] = {}
    faults: list[Fault] = []
    for position, item in enumerate(spec.split(",")):
        name, is_mapping, target = item.rpartition("=")
        if is_mapping:
            found = by_name.get(simple_name(name))
            if found is None:
                faults.append(Fault(ErrorCode.COLUMN_UNKNOWN, "columns", {"name": name.strip()}))
                continue
            position = found
        if target.strip() in ("", "-"):
            continue
        try:
            columns[position] = _target_named(target.strip(), campaign)
        except Reject as reject:
            faults.append(Fault(reject.fault.code, "columns", reject.fault.params))
    if faults:
        raise Invalid(faults)
    return columns


def check_choices(columns: Mapping[int, str], region: str, campaign: CampaignFacts) -> list[Fault]:
    targets = list(columns.values())
    faults = []
    if "phone_number" not in targets:
        faults.append(Fault(ErrorCode.PHONE_COLUMN_MISSING, "columns"))
    faults += [
        Fault(ErrorCode.COLUMN_TWICE, "columns", {"target": label_of(target, campaign)})
        for target in dict.fromkeys(targets)
        if targets.count(target) > 1 and target != REPEATABLE
    ]
    if "status" in targets and "status_id" in targets:
        faults.append(Fault(ErrorCode.COLUMN_TWICE, "columns", {"target": "status"}))
    keys = set(campaign.fields.values())
    for target in targets:
        kind, _colon, key = target.partition(":")
        if kind == "field" and campaign.is_crm:
            faults.append(Fault(ErrorCode.FIELDS_IN_CRM, "columns"))
            break
        if (kind == "field" and key not in keys) or (kind != "field" and target not in TARGETS):
            faults.append(Fault(ErrorCode.TARGET_UNKNOWN, "columns", {"name": target}))
    if not is_region(region):
        faults.append(Fault(ErrorCode.REGION_UNKNOWN, "region", {"region": region}))
    return faults


def regions() -> list[tuple[str, str]]:
    """Return each region with its label: the code of the region and its calling code."""
    return [
        (region, f"{region} (+{phonenumbers.country_code_for_region(region)})")
        for region in sorted(phonenumbers.SUPPORTED_REGIONS)
    ]


def _target_named(name: str, campaign: CampaignFacts) -> str:
    simple = simple_name(name)
    if simple in TARGETS:
        return simple
    for field_name, key in campaign.fields.items():
        if name.removeprefix("field:") == field_name or simple.removeprefix("field:") == simple_name(field_name):
            return f"field:{key}"
    if simple in _SYNONYMS:
        return _SYNONYMS[simple]
    raise Reject(ErrorCode.TARGET_UNKNOWN, name=name)


def label_of(target: str, campaign: CampaignFacts) -> str:
    if target.startswith("field:"):
        names = {key: name for name, key in campaign.fields.items()}
        return names.get(target.removeprefix("field:"), target)
    return target


def choices(campaign: CampaignFacts) -> Iterable[tuple[str, Any]]:
    """Yield (target, label) of all targets for columns of this campaign."""
    yield from TARGETS.items()
    if not campaign.is_crm:
        yield from ((f"field:{key}", name) for name, key in campaign.fields.items())


def simple_name(name: str) -> str:
    """Return the name in lower case, without accents, with one underscore between words."""
    text = normalised("NFKD", name.strip().casefold().replace("ł", "l"))
    text = "".join(character for character in text if not unicodedata.combining(character))
    return re.sub(r"[\s._-]+", "_", text).strip("_")
