"""Real numbers of all regions, imported and read over HTTP in each spelling."""

import csv
import io
from collections import defaultdict
from typing import Any
from urllib.parse import quote

import pytest
from django.test import override_settings

from campaigns.importing.merge import Totals
from campaigns.models import Record
from tests.callcentre.real_numbers import NO_COUNTRY, SPELLINGS, RealNumber, real_numbers
from tests.campaigns.factories import CampaignFactory
from tests.campaigns.import_files import import_text

pytestmark = pytest.mark.django_db

DEFAULT = "PL"


@pytest.fixture(scope="module")
def numbers():
    return list(real_numbers())


@pytest.mark.trial
@pytest.mark.slow("runs many examples")
@pytest.mark.parametrize("kind", SPELLINGS)
def test_every_number_imported_in_one_spelling_is_stored_in_its_normal_form(db, numbers, kind):
    some = [number for number in numbers if number.kind == kind]

    totals = imported(some)

    assert sum(total.read for total in totals) == len(some)
    assert sum(total.faulty for total in totals) == 0
    assert set(Record.objects.values_list("number", flat=True)) == {number.expected for number in some}


@pytest.mark.trial
@pytest.mark.slow("tries numbers of all countries")
def test_every_spelling_finds_the_number(api, numbers):
    imported([number for number in numbers if number.kind == "international"])
    found = dict(Record.objects.values_list("id", "number"))

    lost = []
    for region, some in by_region(numbers).items():
        with override_settings(DEFAULT_REGION=region):
            lost += [number for number in some if found.get(read_back(api, number) or 0) != number.expected]

    assert set(found.values()) == {number.expected for number in numbers}
    assert lost == []


def by_region(numbers: list[RealNumber]) -> dict[str, list[RealNumber]]:
    """Group the numbers by the region that reads them: national ones by their own."""
    regions = defaultdict(list)
    for number in numbers:
        is_at_home = number.kind == "national" and number.region != NO_COUNTRY
        regions[number.region if is_at_home else DEFAULT].append(number)
    return regions


def imported(numbers: list[RealNumber]) -> list[Totals]:
    campaign = CampaignFactory.create(code="WORLD")
    return [import_text(campaign, as_csv(some), region=region).totals for region, some in by_region(numbers).items()]


def as_csv(numbers: list[RealNumber]) -> str:
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(["phone_number"])
    writer.writerows([number.number] for number in numbers)
    return written.getvalue()


def read_back(api: Any, number: RealNumber) -> int | None:
    response = api.get(f"/api/outbounds/WORLD/records/{quote(number.number, safe='')}")
    return response.json().get("record_id") if response.status_code == 200 else None
