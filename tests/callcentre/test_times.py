"""Times on pages: those that are not of today carry their date. Lengths of time are spelt alike everywhere."""

import re
from datetime import UTC, datetime

import pytest
from django.utils.formats import date_format, localize
from django.utils.translation import override

from callcentre.core.times import recent, spell_length
from tests.processes import ROOT

# A time of the day alone: of the moment at which a page was made, or of a chart.
OF_NOW = {"at", "counted_at", "status.at"}


@pytest.mark.parametrize(
    ("instant", "shown"),
    [
        (datetime(2026, 11, 24, 11, 5, 9, tzinfo=UTC), "12:05"),
        (datetime(2026, 11, 23, 23, 30, tzinfo=UTC), "00:30"),
        (datetime(2026, 11, 23, 22, 30, tzinfo=UTC), "2026-11-23 23:30"),
        (datetime(2026, 11, 25, 7, 0, tzinfo=UTC), "2026-11-25 08:00"),
        (None, ""),
    ],
)
def test_a_time_of_another_day_carries_its_date(instant, shown, time_machine):
    time_machine.move_to(datetime(2026, 11, 24, 12, 0, tzinfo=UTC), tick=False)

    assert recent(instant) == shown


def test_no_template_shows_a_stored_time_without_its_day():
    templates = [path for app in APPS for path in (ROOT / app).glob("**/templates/**/*.html")]
    bare = re.compile(r"([\w.]+)\|(?:date|time):[\"']H:i")
    found = {(path.name, name) for path in templates for name in bare.findall(path.read_text())}

    assert [(file, name) for file, name in found if name not in OF_NOW] == []
    assert len(templates) > 100


def test_lengths_have_hours_only_where_there_are_some():
    for seconds, text in [
        (0, "0:00"),
        (-3, "0:00"),
        (39.9, "0:39"),
        (979, "16:19"),
        (3600, "1:00:00"),
        (3723, "1:02:03"),
        (360_000, "100:00:00"),
    ]:
        assert spell_length(seconds) == text


APPS = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
# Allowed formats: to the minute, to the second, a time of day; for programs ISO, and seconds since 1970.
FORMATS = {"Y-m-d H:i", "Y-m-d H:i:s", "Y-m-d", "H:i", "H:i:s", "c", "U"}


def test_dates_are_shown_in_the_form_for_typing_and_sorting():
    for language in ["en", "pl"]:
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
