"""The hours of a campaign: spans, legal rules, holidays, the callee's zones."""

from datetime import UTC, date, datetime, time, timedelta

import pytest

from callcentre.core.holiday_calendars import has_calendar
from campaigns.dialling.choice import Group
from campaigns.dialling.hours import (
    Closure,
    Hours,
    LegalRule,
    LegalSpan,
    Span,
    closure,
    next_opening,
    open_groups,
    permission,
    read_hours,
)
from campaigns.models import CampaignHours, LegalHours
from tests.campaigns.factories import CampaignFactory
from tests.statements import few_statements

EVERY_DAY = frozenset(range(1, 8))
WARSAW, NEW_YORK = "Europe/Warsaw", "America/New_York"
POLISH, AMERICAN = "+48225550117", "+12125550117"
# A Monday. 12:00 in Warsaw, 6:00 in New York.
NOON = datetime(2026, 3, 2, 11, tzinfo=UTC)
OFFICE = Span(frozenset((1, 2, 3, 4, 5)), time(9), time(17))
CALM = Span(EVERY_DAY, time(8), time(21))


def legal(*rows: LegalSpan, name: str = "United States", prefix: str = "1") -> LegalRule:
    return LegalRule(name, prefix, rows or (LegalSpan(CALM, "", None, None),))


US = Hours(rules=(legal(),))


def test_closures():
    for hours, zone, number, expected in [
        (Hours(), WARSAW, POLISH, None),
        (Hours(spans=(OFFICE,)), WARSAW, POLISH, None),
        (Hours(spans=(OFFICE,)), NEW_YORK, POLISH, Closure("outside_hours")),
        (US, NEW_YORK, AMERICAN, Closure("legal_hours", "United States")),
        # The rule concerns the number, the zone the record.
        (US, NEW_YORK, POLISH, None),
        (US, WARSAW, AMERICAN, None),
        # All zones must allow the call.
        (US, f"{WARSAW} {NEW_YORK}", AMERICAN, Closure("legal_hours", "United States")),
        # Extensions have TIME_ZONE.
        (Hours(spans=(OFFICE,)), "", "101", None),
        (Hours(), "?", POLISH, Closure("zone_unreadable")),
        (Hours(), "Europe/Nowhere", POLISH, Closure("zone_unreadable")),
        (Hours(spans=(OFFICE,), rules=US.rules, is_ignored=True), NEW_YORK, AMERICAN, None),
    ]:
        assert closure(hours, zone, number, NOON) == expected


def test_a_span_includes_its_beginning_and_not_its_end_by_the_clock_of_the_zone():
    for span, at, is_open in [
        *((OFFICE, f"2026-03-02T{at}+01:00", False) for at in ("08:59:59", "17:00:00")),
        *((OFFICE, f"2026-03-02T{at}+01:00", True) for at in ("09:00:00", "16:59:59")),
        # 23:59 means midnight.
        (Span(EVERY_DAY, time(20), time(23, 59)), "2026-03-02T23:59:30+01:00", True),
        # On 29 March 2026 clocks in Warsaw go from 2:00 to 3:00.
        (CALM, "2026-03-28T06:30Z", False),
        (CALM, "2026-03-29T06:30Z", True),
    ]:
        found = closure(Hours(spans=(span,)), WARSAW, POLISH, datetime.fromisoformat(at))
        assert found == (None if is_open else Closure("outside_hours"))


def test_holidays_close_a_campaign_and_a_country_without_a_calendar_is_never_called():
    hours = Hours(holiday_country="PL")
    christmas = datetime(2026, 12, 25, 11, tzinfo=UTC)
    assert closure(hours, WARSAW, POLISH, christmas) == Closure("holiday", "PL")
    assert closure(hours, WARSAW, POLISH, christmas + timedelta(days=3)) is None
    assert [has_calendar(country) for country in ("XX", "US-ZZ", "US-CA")] == [False, False, True]
    assert closure(Hours(holiday_country="XX"), WARSAW, POLISH, NOON) == Closure("holiday", "XX")


def test_rows_of_one_legal_rule_are_alternatives_and_rules_bind_together():
    workdays = LegalSpan(Span(frozenset((1, 2, 3, 4, 5)), time(8), time(21)), "", None, None)
    saturday = LegalSpan(Span(frozenset((6,)), time(10), time(14)), "", None, None)
    federal = legal(workdays, saturday)
    state = legal(LegalSpan(Span(EVERY_DAY, time(9), time(20)), "", None, None), name="Florida", prefix="1305")
    hours = Hours(rules=(federal, state))

    def at(text, number="+13055550117"):
        return closure(hours, NEW_YORK, number, datetime.fromisoformat(text))

    assert at("2026-03-02T12:00-05:00") is None
    assert at("2026-03-02T08:30-05:00") == Closure("legal_hours", "Florida")
    assert at("2026-03-02T08:30-05:00", AMERICAN) is None
    assert at("2026-03-07T12:00-05:00") is None
    assert at("2026-03-07T15:00-05:00") == Closure("legal_hours", "United States")
    assert at("2026-03-08T12:00-05:00") == Closure("legal_hours", "United States")


def test_a_legal_rule_holds_on_its_dates_only():
    early = LegalSpan(Span(EVERY_DAY, time(8), time(9)), "", None, date(2026, 3, 1))
    later = LegalSpan(CALM, "", date(2026, 3, 3), None)
    hours = Hours(rules=(legal(early, later),))

    def at(text):
        return closure(hours, NEW_YORK, AMERICAN, datetime.fromisoformat(text)) is None

    assert not at("2026-03-01T12:00-05:00")
    assert at("2026-03-02T03:00-05:00")
    assert not at("2026-03-03T03:00-05:00")
    assert at("2026-03-03T12:00-05:00")


def test_a_legal_rule_may_exclude_holidays():
    hours = Hours(rules=(legal(LegalSpan(CALM, "US", None, None)),))
    assert closure(hours, NEW_YORK, AMERICAN, datetime(2026, 7, 3, 16, tzinfo=UTC)) == Closure(
        "legal_hours", "United States"
    )
    assert closure(hours, NEW_YORK, AMERICAN, datetime(2026, 7, 7, 16, tzinfo=UTC)) is None


def test_next_opening_is_the_first_instant_that_all_rules_and_zones_allow():
    hours = Hours(spans=(OFFICE,), rules=US.rules)
    assert next_opening(hours, NEW_YORK, AMERICAN, NOON) == datetime(2026, 3, 2, 14, tzinfo=UTC)
    assert next_opening(hours, WARSAW, POLISH, NOON) == NOON
    friday_evening = datetime(2026, 3, 6, 20, tzinfo=UTC)
    assert next_opening(hours, WARSAW, POLISH, friday_evening) == datetime(2026, 3, 9, 8, tzinfo=UTC)
    # 9:00 in Los Angeles, 12:00 in New York.
    both = f"{NEW_YORK} America/Los_Angeles"
    assert next_opening(hours, both, AMERICAN, NOON) == datetime(2026, 3, 2, 17, tzinfo=UTC)
    # 9:00 in Tokyo is 1:00 in Warsaw.
    assert next_opening(hours, f"{WARSAW} Asia/Tokyo", POLISH, NOON) is None
    assert next_opening(hours, "?", POLISH, NOON) is None


def test_open_groups_name_the_numbers_that_stay_closed():
    florida = legal(LegalSpan(Span(EVERY_DAY, time(9), time(20)), "", None, None), name="Florida", prefix="1305")
    hours = Hours(rules=(*US.rules, florida))
    groups = [Group(WARSAW, "48"), Group(NEW_YORK, "1"), Group(NEW_YORK, "48"), Group("America/Los_Angeles", "1")]
    groups += [Group("?", "48"), Group("", "")]

    assert open_groups(hours, groups, datetime.fromisoformat("2026-03-02T08:30-05:00")) == [
        Group(WARSAW, "48"),
        Group(NEW_YORK, "1", ("+1305",)),
        Group(NEW_YORK, "48"),
        Group("", ""),
    ]


def test_the_permission_names_the_rules_of_the_call():
    hours = Hours(spans=(OFFICE,), rules=US.rules)
    assert permission(hours, NEW_YORK, AMERICAN, NOON + timedelta(hours=5)) == "campaign 09:00–17:00; United States"
    assert permission(Hours(), WARSAW, POLISH, NOON) == ""
    assert permission(Hours(is_ignored=True), WARSAW, POLISH, NOON) == "hours ignored"


@pytest.mark.django_db
def test_hours_are_read_of_the_campaign_and_the_law():
    campaign = CampaignFactory(holiday_country="PL")
    CampaignHours.objects.create(campaign=campaign, weekday=1, begins_at=time(9), ends_at=time(17))
    CampaignHours.objects.create(campaign=CampaignFactory(), weekday=2, begins_at=time(9), ends_at=time(17))
    LegalHours.objects.create(
        name="Own", prefix="48", weekdays="12345", begins_at=time(8), ends_at=time(20), source="a law"
    )

    with few_statements(1):
        hours = read_hours(campaign)

    assert hours.spans == (Span(frozenset((1,)), time(9), time(17)),)
    assert hours.holiday_country == "PL"
    assert [(rule.name, rule.prefix) for rule in hours.rules] == [("United States", "1"), ("Own", "48")]


@pytest.mark.django_db
def test_hours_are_ignored_on_the_simulated_switch_only(settings):
    campaign = CampaignFactory(ignores_hours=True)
    assert read_hours(campaign).is_ignored
    settings.SWITCH_BACKEND = "asterisk"
    assert not read_hours(campaign).is_ignored
