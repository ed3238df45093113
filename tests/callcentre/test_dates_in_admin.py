"""One form of dates in the whole admin, in each language."""

import re
from datetime import UTC, datetime

import pytest
from django.utils.formats import date_format, localize
from django.utils.translation import override

from tests.processes import ROOT

APPS = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
# Allowed formats: to the minute, to the second, a time of day; for programs ISO, and seconds since 1970.
FORMATS = {"Y-m-d H:i", "Y-m-d H:i:s", "Y-m-d", "H:i", "H:i:s", "c", "U"}


@pytest.mark.parametrize("language", ["en", "pl"])
def test_dates_are_shown_in_the_form_for_typing_and_sorting(language):
    with override(language):
        assert localize(datetime(2026, 11, 7, 9, 5, tzinfo=UTC)) == "2026-11-07 09:05"
        assert date_format(datetime(2026, 11, 7, tzinfo=UTC)) == "2026-11-07"


def test_templates_use_the_common_date_formats():
    folders = [ROOT / app / "templates" for app in APPS]
    templates = [path for folder in folders for path in folder.rglob("*.html")]
    used = {
        (path.name, form) for path in templates for form in re.findall(r"""\|date:["']([^"']+)""", path.read_text())
    }

    assert used
    assert {name for name, form in used if form not in FORMATS} == set()
