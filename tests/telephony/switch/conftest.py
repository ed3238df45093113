from collections.abc import Iterator
from typing import Any

import pytest

from telephony.switch import simulation
from tests.telephony.switch.ari_server import AriServer
from tests.telephony.switch.harness import Line, Pair, asterisk_line, simulated_line


@pytest.fixture
def both(settings: Any) -> Iterator[Pair]:
    """A switch that is online, and the Asterisk behind it."""
    with asterisk_line(settings) as pair:
        yield pair


@pytest.fixture
def server(both: Pair) -> AriServer:
    return both[1]


@pytest.fixture(
    params=[
        pytest.param("simulated", marks=pytest.mark.django_db(transaction=True)),
        "asterisk",
        "asterisk that tells all twice",
    ]
)
def line(request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    if request.param == "simulated":
        # Here no party hangs up without a request.
        monkeypatch.setattr(simulation, "TALK", (20_000.0, 20_000.0))
        with simulated_line(settings, monkeypatch) as line:
            yield line
    else:
        copies = 2 if "twice" in request.param else 1
        with asterisk_line(settings, copies=copies, variables=3) as (line, _):
            yield line
