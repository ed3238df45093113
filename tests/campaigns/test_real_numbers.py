"""Real numbers of the whole world, imported in each spelling and read back over HTTP by each spelling."""

import csv
import io
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.test import override_settings

from campaigns.models import Record
from tests.callcentre.real_numbers import NO_COUNTRY, SPELLINGS, RealNumber, write_csv
from tests.campaigns.factories import CampaignFactory
from tests.campaigns.importing import import_text

pytestmark = pytest.mark.django_db

DEFAULT = "PL"


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> list[RealNumber]:
    path: Path = tmp_path_factory.mktemp("numbers") / "numbers.csv"
    write_csv(path)
    with path.open(encoding="utf-8", newline="") as file:
        return [RealNumber(**row) for row in csv.DictReader(file)]


def region_of(number: RealNumber) -> str:
    """Where the spelling is read: at home if it is a national one."""
    return number.region if number.kind == "national" and number.region != NO_COUNTRY else DEFAULT


@pytest.mark.parametrize("kind", SPELLINGS)
def test_every_number_imported_in_one_spelling_is_read_back_by_every_spelling(
    api: Any, numbers: list[RealNumber], kind: str
) -> None:
    campaign = CampaignFactory.create(code="WORLD")
    rows = defaultdict(list)
    for number in numbers:
        if number.kind == kind:
            rows[region_of(number)].append(number)
    totals = [import_text(campaign, as_csv(some), region=region).totals for region, some in rows.items()]
    expected = {number.expected for some in rows.values() for number in some}

    found = dict(Record.objects.filter(campaign=campaign).values_list("id", "number"))
    asked = [number for number in numbers if number.expected in expected]
    lost = [number for number in asked if found.get(read_back(api, number) or 0) != number.expected]

    assert sum(total.read for total in totals) == sum(map(len, rows.values()))
    assert sum(total.faulty for total in totals) == 0
    assert set(found.values()) == expected
    assert lost == []
    print(f"{kind}: {len(expected)} numbers imported, read back by {len(asked)} spellings, all agree")


def as_csv(numbers: list[RealNumber]) -> str:
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(["phone_number"])
    writer.writerows([number.number] for number in numbers)
    return written.getvalue()


def read_back(api: Any, number: RealNumber) -> int | None:
    with override_settings(DEFAULT_REGION=region_of(number)):
        response = api.get(f"/api/outbounds/WORLD/records/{quote(number.number, safe='')}")
    return response.json().get("record_id") if response.status_code == 200 else None
