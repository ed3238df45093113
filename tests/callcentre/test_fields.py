"""Wire formats: reading values, to the limits of the columns, and writing them."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callcentre.api import fields
from callcentre.core.errors import ErrorCode, numbered
from callcentre.core.parsing import (
    Reject,
    RejectEntries,
    parse_boolean,
    parse_date,
    parse_instant,
    parse_integer,
    parse_text,
)
from callcentre.core.times import day, minute


def rejected(function: Any, *args: Any, **kwargs: Any) -> ErrorCode:
    with pytest.raises(Reject) as caught:
        function(*args, **kwargs)
    return caught.value.fault.code


# Times in


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-15", datetime(2026, 1, 14, 23, 0, tzinfo=UTC)),
        ("2026-01-15 10:30", datetime(2026, 1, 15, 9, 30, tzinfo=UTC)),
        ("2026-01-15 10:30:59", datetime(2026, 1, 15, 9, 30, 59, tzinfo=UTC)),
        ("2026-07-15 10:30", datetime(2026, 7, 15, 8, 30, tzinfo=UTC)),
        (" 2026-07-15 10:30 ", datetime(2026, 7, 15, 8, 30, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 28, 23, 0, tzinfo=UTC)),
    ],
)
def test_a_time_has_three_spellings_and_is_wall_clock_time(text: str, instant: datetime) -> None:
    assert parse_instant(text) == instant


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("2026-01-15", datetime(2026, 1, 15, 22, 59, 59, 999999, tzinfo=UTC)),
        ("2026-01-15 10:30", datetime(2026, 1, 15, 9, 30, 59, 999999, tzinfo=UTC)),
        ("2026-01-15 10:30:59", datetime(2026, 1, 15, 9, 30, 59, tzinfo=UTC)),
        # Days of 23 and of 25 hours end at their own end.
        ("2026-03-29", datetime(2026, 3, 29, 21, 59, 59, 999999, tzinfo=UTC)),
        ("2026-10-25", datetime(2026, 10, 25, 22, 59, 59, 999999, tzinfo=UTC)),
    ],
)
def test_an_upper_bound_includes_its_day_or_minute(text: str, last: datetime) -> None:
    assert parse_instant(text, is_upper_bound=True) == last


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-29 01:59", datetime(2026, 3, 29, 0, 59, tzinfo=UTC)),
        ("2026-03-29 02:00", datetime(2026, 3, 29, 1, 0, tzinfo=UTC)),
        ("2026-03-29 02:30", datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        ("2026-03-29 03:00", datetime(2026, 3, 29, 1, 0, tzinfo=UTC)),
    ],
)
def test_a_time_that_the_spring_skips_is_shifted_forward(text: str, instant: datetime) -> None:
    assert parse_instant(text) == instant


def test_a_skipped_time_reads_an_hour_later() -> None:
    assert minute(parse_instant("2026-03-29 02:30")) == "2026-03-29 03:30"


def test_a_repeated_time_in_autumn_is_the_first_one() -> None:
    assert parse_instant("2026-10-25 02:30") == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert minute(parse_instant("2026-10-25 02:30")) == "2026-10-25 02:30"


WRONG_TIMES: list[Any] = [
    *("", "2026", "2026-1-5", "2026-02-29", "2026-13-01", "2026-00-10", "0000-01-01", "2026-01-15T10:30"),
    *("2026-01-15 24:00", "2026-01-15 10:60", "2026-01-15 10:30:60", "2026-01-15 10", "2026-01-15 10:30+01:00"),
    *("2026-01-15 10:30Z", "15.01.2026", "2026-01-15\n\n2026", "٢٠٢٦-01-15", "now"),
    *(20260115, 1.5, None, True, [], {}),
]


def test_malformed_times_are_refused() -> None:
    for text in WRONG_TIMES:
        assert rejected(parse_instant, text) is ErrorCode.NOT_INSTANT, text


def test_malformed_dates_are_refused() -> None:
    for text in [*WRONG_TIMES, "2026-01-15 10:30"]:
        assert rejected(parse_date, text) is ErrorCode.NOT_DATE, text


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "9999-12-31 23:59"])
@pytest.mark.parametrize("is_upper_bound", [False, True])
def test_the_first_and_last_days_are_read_or_refused(text: str, is_upper_bound: bool) -> None:
    try:
        parse_instant(text, is_upper_bound=is_upper_bound)
    except Reject as reject:
        assert reject.fault.code is ErrorCode.NOT_INSTANT  # noqa: PT017


@given(st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001
def test_every_written_minute_is_read_as_itself_or_an_hour_later(wall: datetime) -> None:
    text = wall.isoformat(" ", "minutes")

    read = minute(parse_instant(text))

    assert read == text or read > text  # skipped by a change to summer time


@given(st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001
def test_an_upper_bound_is_never_before_its_lower_bound(wall: datetime) -> None:
    for text in (wall.date().isoformat(), wall.isoformat(" ", "minutes"), wall.isoformat(" ", "seconds")):
        assert parse_instant(text, is_upper_bound=True) >= parse_instant(text)


# Times out


def test_times_are_written_in_the_configured_zone_to_the_minute() -> None:
    assert minute(datetime(2026, 7, 15, 22, 30, 59, tzinfo=UTC)) == "2026-07-16 00:30"


def test_unset_times_are_empty_strings() -> None:
    assert (minute(None), day(None)) == ("", "")


def test_a_date_is_written_in_iso_form() -> None:
    assert day(date(2026, 7, 5)) == "2026-07-05"


# Numbers, booleans, texts


def test_a_whole_number_has_many_spellings() -> None:
    for value in (7, "7", " 7 ", "+7", "007", 7.0):
        assert parse_integer(value) == 7, value


def test_malformed_whole_numbers_are_refused() -> None:
    wrong: list[Any] = ["", "x", "7.0", "7e1", "٧", "1_000", "0x7", 7.5, True, None, [], {}, float("inf")]
    for value in wrong:
        assert rejected(parse_integer, value) is ErrorCode.NOT_INTEGER, value


def test_a_number_beyond_bigint_is_out_of_range() -> None:
    for value in (2**63, -(2**63) - 1, "9" * 30, 1e300):
        assert rejected(parse_integer, value) is ErrorCode.OUT_OF_RANGE, value


def test_a_number_of_thousands_of_digits_is_refused_unread() -> None:
    assert rejected(parse_integer, "9" * 5000) is ErrorCode.NOT_INTEGER


def test_an_impossible_id_reads_as_an_unknown_id() -> None:
    for value, expected in ((0, 0), ("5", 5), (-1, 0), (2**63, 0), ("9" * 30, 0), ("", None)):
        assert fields.IdField().to_internal_value(value) == expected, value


def test_malformed_booleans_are_refused() -> None:
    wrong: list[Any] = [None, "yes", "on", 2, -1, 1.0, 0.0, "", [], {}]
    for value in wrong:
        assert rejected(parse_boolean, value) is ErrorCode.NOT_BOOLEAN, value


def test_a_text_has_no_nul_and_no_half_surrogate() -> None:
    for value in ("a\0b", "\ud800", "x\udfff"):
        assert rejected(parse_text, value) is ErrorCode.NUL, ascii(value)


def test_a_text_keeps_its_inner_blanks() -> None:
    assert parse_text("  zażółć \n 🙂\t") == "zażółć \n 🙂"


def test_values_that_are_no_text_are_refused() -> None:
    wrong: list[Any] = [True, 1.5, [], {}, None]
    for value in wrong:
        assert rejected(parse_text, value) is ErrorCode.NOT_TEXT, value


def test_a_ratio_may_be_sent_as_a_string() -> None:
    for value in ("1.5", 1.5, "+1.5", " 1.5"):
        assert fields.NumberField(min_value=0, max_value=100).to_internal_value(value) == 1.5, value


def test_a_ratio_has_bounds_and_is_a_number() -> None:
    wrong: list[Any] = ["NaN", "inf", "1e2", "1,5", float("nan"), float("inf"), -0.1, 100.1, True, []]
    for value in wrong:
        code = rejected(fields.NumberField(min_value=0, max_value=100).to_internal_value, value)
        assert code in {ErrorCode.NOT_NUMBER, ErrorCode.OUT_OF_RANGE}, value


def test_a_choice_that_is_empty_is_none() -> None:
    field = fields.ChoiceField(choices=["HTML", "PLAIN"])

    assert field.to_internal_value("") is None
    wrong: list[Any] = ["html", " ", 1, True, [], {}]
    for value in wrong:
        assert rejected(field.to_internal_value, value) is ErrorCode.NOT_CHOICE


def test_faults_in_a_list_name_the_entry() -> None:
    field = fields.ListField(child=fields.TextField(), max_length=3)

    for data, path in ((["a", 1.5], "1"), (["a", "b", None], "2"), ([""], "0"), (["a", " "], "1")):
        with pytest.raises(Reject) as caught:
            field.to_internal_value(data)
        assert caught.value.fault.field == path


def test_readable_entries_of_a_list_keep_their_positions() -> None:
    with pytest.raises(RejectEntries) as caught:
        fields.ListField(child=fields.TextField()).to_internal_value(["a", 1.5, "b", None, "c"])

    assert [fault.field for fault in caught.value.faults] == ["1", "3"]
    assert list(numbered(caught.value.readable)) == [(0, "a"), (2, "b"), (4, "c")]


def test_values_that_are_no_list_are_refused() -> None:
    for data in ("a,b", {"0": "a"}, 1, True):
        field = fields.ListField(child=fields.TextField())
        assert rejected(field.to_internal_value, data) is ErrorCode.NOT_LIST, data


def test_an_empty_php_array_is_an_empty_map() -> None:
    assert fields.TextMapField().to_internal_value([]) == {}


def test_faults_in_a_map_name_the_key() -> None:
    with pytest.raises(Reject) as caught:
        fields.TextMapField().to_internal_value({"city": ["Łódź"]})

    assert caught.value.fault.field == "city"
