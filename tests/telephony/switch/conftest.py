from collections.abc import Iterator
from typing import Any

import pytest

from tests.telephony.switch.harness import Pair, asterisk_line


@pytest.fixture
def both(settings: Any) -> Iterator[Pair]:
    """A switch that is online, and the Asterisk behind it."""
    with asterisk_line(settings) as pair:
        yield pair
