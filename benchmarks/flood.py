"""A stand-in of Asterisk that sends events of many calls as fast as it can.

`python -m benchmarks.flood PORT FIRST COUNT`. It starts when the channel `callcentre-0-1` is asked for, and sends the
events of the connections FIRST and on: for each the 59 messages that an average call of a real Asterisk causes, most of
which are ignored.
"""

import sys
import threading
import time
from typing import Any

from tests.telephony.switch.ari_channels import Line
from tests.telephony.switch.ari_pbx import Pbx
from tests.telephony.switch.ari_server import AriServer

MESSAGES_PER_CALL = 59


class FloodPbx(Pbx):
    """The switch of the flood: it accepts every command and does nothing."""

    first, count = 0, 0

    def originate(self, wishes: dict[str, str]) -> Line:
        line = Line(wishes["channelId"], "PJSIP/100-00000001", "100", wishes["app"])
        if line.id == "callcentre-0-1":
            threading.Thread(target=self._flood, daemon=True).start()
        return line

    def _flood(self) -> None:
        # Several calls at a time, each in its order, as a switch sends them.
        for start in range(self.first, self.first + self.count, 30):
            group = range(start, min(start + 30, self.first + self.count))
            for step in range(MESSAGES_PER_CALL):
                for pk in group:
                    self._tell(pk, step)

    def _tell(self, pk: int, step: int) -> None:
        leg, kind, content = STEPS[step]
        with self.lock:
            line = self.lines.setdefault(
                f"callcentre-{pk}-{leg}", Line(f"callcentre-{pk}-{leg}", "PJSIP/trunk-1", "48", "callcentre")
            )
            line.state, line.is_in_stasis = content.get("state", "Up"), True
            if step == LAST_STEPS[leg]:
                del self.lines[line.id]
            if kind == "Dial":
                self._dial(line, content["dialstatus"])
            else:
                self.send_to(line.app, {"type": kind, **content, "channel": line.json()})

    def delete(self, channel_id: str, reason: str, code: str) -> None:
        """Do nothing: the flood itself sends the end of each channel."""

    def add(self, bridge_id: str, channel_ids: list[str]) -> None:
        """Accept any channels."""


def _steps() -> list[tuple[int, str, dict[str, Any]]]:
    """Yield (leg, type of message, its content) of one call; important events come twice, as from Asterisk."""
    variables: list[tuple[str, dict[str, Any]]] = [("ChannelVarset", {"variable": "VARIABLE", "value": "x" * 40})]
    begins: list[tuple[str, dict[str, Any]]] = [
        *variables * 8,
        ("Dial", {"dialstatus": ""}),
        ("Dial", {"dialstatus": "RINGING"}),
        *[("ChannelStateChange", {"state": "Ringing"})] * 2,
        ("Dial", {"dialstatus": "ANSWER"}),
        *variables * 8,
        *[("StasisStart", {"args": []})] * 2,
    ]
    ends: list[tuple[str, dict[str, Any]]] = [
        ("StasisEnd", {}),
        *[("ChannelDestroyed", {"cause": 16, "cause_txt": "Normal Clearing"})] * 2,
    ]
    steps = [(1, *message) for message in begins] + [(2, *message) for message in begins]
    steps += [(leg, "ChannelEnteredBridge", {"bridge": {"id": "b"}}) for leg in (1, 2)]
    steps += [(leg, *message) for leg in (2, 1) for message in ends]
    missing = MESSAGES_PER_CALL - len(steps)
    return [(1, *variables[0])] * missing + steps


STEPS = _steps()
LAST_STEPS = {leg: max(step for step, (of, _, _) in enumerate(STEPS) if of == leg) for leg in (1, 2)}


def main() -> None:
    port, FloodPbx.first, FloodPbx.count = map(int, sys.argv[1:])
    server = AriServer(port)
    server._make = lambda: FloodPbx(0.1)
    server.restart()
    print(server.url, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
