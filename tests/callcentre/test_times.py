"""The spelling of lengths of time for people, in Python as in the browser."""

import pytest

from callcentre.core.times import spell_length


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00"),
        (-3, "0:00"),
        (39.9, "0:39"),
        (979, "16:19"),
        (3600, "1:00:00"),
        (3723, "1:02:03"),
        (360_000, "100:00:00"),
    ],
)
def test_lengths_have_hours_only_where_there_are_some(seconds: float, text: str) -> None:
    assert spell_length(seconds) == text
