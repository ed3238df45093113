"""The desks of two agents."""

import pytest

from tests.desk.agents import Desk, desk_of


@pytest.fixture
def desk() -> Desk:
    return desk_of()


@pytest.fixture
def other() -> Desk:
    return desk_of("piotr")
