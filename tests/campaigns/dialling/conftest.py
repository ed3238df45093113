from collections.abc import Iterator

import pytest

from telephony.calls import switch_requests
from tests.processes import heard_switch
from tests.telephony.doubles import RecordingSwitch


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> Iterator[RecordingSwitch]:
    """A switch that records the requests of this process, with a connected listener. Transactions commit."""
    double = RecordingSwitch()
    monkeypatch.setattr(switch_requests, "current_switch", lambda: double)
    with heard_switch():
        yield double
