"""Wire formats: reading values, to the limits of the columns, and writing them."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callcentre.api import fields
from callcentre.core.errors import ErrorCode, numbered
from callcentre.core.parsing import Reject, parse_boolean, parse_date, parse_instant, parse_integer, parse_text
from callcentre.core.times import day, minute


def rejected(function: Any, *args: Any, **kwargs: Any) -> ErrorCode:
    with pytest.raises(Reject) as caught:
        function(*args, **kwargs)
    return caught.value.fault.code


# Times in


LOWER, UPPER = False, True


def test_a_time_is_wall_clock_time():
    for text, is_upper_bound, instant in [
        ("2026-01-15", LOWER, datetime(2026, 1, 14, 23, 0, tzinfo=UTC)),
        ("2026-01-15 10:30", LOWER, datetime(2026, 1, 15, 9, 30, tzinfo=UTC)),
        ("2026-01-15 10:30:59", LOWER, datetime(2026, 1, 15, 9, 30, 59, tzinfo=UTC)),
        ("2026-07-15 10:30", LOWER, datetime(2026, 7, 15, 8, 30, tzinfo=UTC)),
        (" 2026-07-15 10:30 ", LOWER, datetime(2026, 7, 15, 8, 30, tzinfo=UTC)),
        ("2024-02-29", LOWER, datetime(2024, 2, 28, 23, 0, tzinfo=UTC)),
        # An upper bound includes its day or minute.
        ("2026-01-15", UPPER, datetime(2026, 1, 15, 22, 59, 59, 999999, tzinfo=UTC)),
        ("2026-01-15 10:30", UPPER, datetime(2026, 1, 15, 9, 30, 59, 999999, tzinfo=UTC)),
        ("2026-01-15 10:30:59", UPPER, datetime(2026, 1, 15, 9, 30, 59, tzinfo=UTC)),
        # Days of 23 and of 25 hours end at their own end.
        ("2026-03-29", UPPER, datetime(2026, 3, 29, 21, 59, 59, 999999, tzinfo=UTC)),
        ("2026-10-25", UPPER, datetime(2026, 10, 25, 22, 59, 59, 999999, tzinfo=UTC)),
        # A time that the spring skips is shifted forward; one that the autumn repeats is the first of the two.
        ("2026-03-29 01:59", LOWER, datetime(2026, 3, 29, 0, 59, tzinfo=UTC)),
        ("2026-03-29 02:00", LOWER, datetime(2026, 3, 29, 1, 0, tzinfo=UTC)),
        ("2026-03-29 02:30", LOWER, datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        ("2026-03-29 03:00", LOWER, datetime(2026, 3, 29, 1, 0, tzinfo=UTC)),
        ("2026-10-25 02:30", LOWER, datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
    ]:
        assert parse_instant(text, is_upper_bound=is_upper_bound) == instant


WRONG_TIMES: list[Any] = [
    *("", "2026", "2026-1-5", "2026-02-29", "2026-13-01", "2026-00-10", "0000-01-01", "2026-01-15T10:30"),
    *("2026-01-15 24:00", "2026-01-15 10:60", "2026-01-15 10:30:60", "2026-01-15 10", "2026-01-15 10:30+01:00"),
    *("2026-01-15 10:30Z", "15.01.2026", "2026-01-15\n\n2026", "٢٠٢٦-01-15", "now"),
    *(20260115, 1.5, None, True, [], {}),
]


def test_malformed_values_are_refused():
    for parse, wrong, code in [
        (parse_instant, WRONG_TIMES, ErrorCode.NOT_INSTANT),
        (parse_date, [*WRONG_TIMES, "2026-01-15 10:30"], ErrorCode.NOT_DATE),
        (parse_integer, ["", "x", "7.0", "7e1", "٧", "1_000", "0x7", 7.5, True, None, []], ErrorCode.NOT_INTEGER),
        (parse_integer, [float("inf"), {}, "9" * 5000], ErrorCode.NOT_INTEGER),
        (parse_integer, [2**63, -(2**63) - 1, "9" * 30, 1e300], ErrorCode.OUT_OF_RANGE),
        (parse_boolean, [None, "yes", "on", 2, -1, 1.0, 0.0, "", [], {}], ErrorCode.NOT_BOOLEAN),
        (parse_text, ["a\0b", "\ud800", "x\udfff"], ErrorCode.NUL),
        (parse_text, [True, 1.5, [], {}, None], ErrorCode.NOT_TEXT),
    ]:
        for value in wrong:
            assert rejected(parse, value) is code, ascii(value)


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "9999-12-31 23:59"])
@pytest.mark.parametrize("is_upper_bound", [False, True])
def test_the_first_and_last_days_are_read_or_refused(text, is_upper_bound):
    try:
        parse_instant(text, is_upper_bound=is_upper_bound)
    except Reject as reject:
        assert reject.fault.code is ErrorCode.NOT_INSTANT  # noqa: PT017


@given(st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001
def test_every_written_minute_is_read_as_itself_or_an_hour_later(wall):
    text = wall.isoformat(" ", "minutes")

    read = minute(parse_instant(text))

    assert read == text or read > text  # skipped by a change to summer time


@given(st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001
def test_an_upper_bound_is_never_before_its_lower_bound(wall):
    for text in (wall.date().isoformat(), wall.isoformat(" ", "minutes"), wall.isoformat(" ", "seconds")):
        assert parse_instant(text, is_upper_bound=True) >= parse_instant(text)


def test_times_are_written_in_the_configured_zone_to_the_minute_and_unset_ones_empty():
    assert minute(datetime(2026, 7, 15, 22, 30, 59, tzinfo=UTC)) == "2026-07-16 00:30"
    assert minute(parse_instant("2026-03-29 02:30")) == "2026-03-29 03:30"
    assert minute(parse_instant("2026-10-25 02:30")) == "2026-10-25 02:30"
    assert day(date(2026, 7, 5)) == "2026-07-05"
    assert (minute(None), day(None)) == ("", "")


# Numbers, booleans, texts


def test_a_value_has_many_spellings():
    cases: list[Any] = [
        (parse_integer, [7, "7", " 7 ", "+7", "007", 7.0], 7),
        (parse_boolean, [True, 1, "1", "true", "TRUE", " True "], True),
        (parse_boolean, [False, 0, "0", "false", "False"], False),
        (parse_text, ["  zażółć \n 🙂\t"], "zażółć \n 🙂"),
        (parse_text, [2026, "2026"], "2026"),
        (fields.IdField().to_internal_value, [5, "5", " 5 ", 5.0], 5),
        # An impossible id reads as an unknown one.
        (fields.IdField().to_internal_value, [0, -1, 2**63, "9" * 30], 0),
        (fields.IdField().to_internal_value, [""], None),
        (fields.NumberField(min_value=0, max_value=100).to_internal_value, ["1.5", 1.5, "+1.5", " 1.5"], 1.5),
        # PHP sends an empty map as an array.
        (fields.TextMapField().to_internal_value, [[]], {}),
    ]
    for read, spellings, expected in cases:
        for value in spellings:
            assert read(value) == expected, value


def test_a_ratio_has_bounds_and_is_a_number():
    wrong: list[Any] = ["NaN", "inf", "1e2", "1,5", float("nan"), float("inf"), -0.1, 100.1, True, []]
    for value in wrong:
        code = rejected(fields.NumberField(min_value=0, max_value=100).to_internal_value, value)
        assert code in {ErrorCode.NOT_NUMBER, ErrorCode.OUT_OF_RANGE}, value


def test_a_choice_that_is_empty_is_none():
    field = fields.ChoiceField(choices=["HTML", "PLAIN"])

    assert field.to_internal_value("") is None
    wrong: list[Any] = ["html", " ", 1, True, [], {}]
    for value in wrong:
        assert rejected(field.to_internal_value, value) is ErrorCode.NOT_CHOICE


def test_faults_in_a_list_or_a_map_name_the_entry_and_readable_ones_keep_their_positions():
    field = fields.ListField(child=fields.TextField())

    for data, paths in ((["a", 1.5, "b", None, "c"], ["1", "3"]), ([""], ["0"]), (["a", " "], ["1"])):
        with pytest.raises(Reject) as caught:
            field.to_internal_value(data)
        assert [fault.field for fault in caught.value.faults] == paths
        assert list(numbered(caught.value.readable)) == [
            (position, text) for position, text in enumerate(data) if str(position) not in paths
        ]
    for wrong in ("a,b", {"0": "a"}, 1, True):
        assert rejected(field.to_internal_value, wrong) is ErrorCode.NOT_LIST, wrong
    with pytest.raises(Reject) as of_map:
        fields.TextMapField().to_internal_value({"city": ["Łódź"]})
    assert of_map.value.fault.field == "city"
