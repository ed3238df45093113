"""Callers who gave up while no listener was connected, as the dialplan of docs/telephony-switch.md stores them."""

import re
from datetime import UTC, datetime

from telephony.switch.ari import Ari
from telephony.switch.base import Missed

# Of a caller: channel, end, number, dialled number.
_MISSED = re.compile(
    r"\A(?P<channel>(?:[^:,/]*[^:,/\d])?(?P<began>\d{1,11})\.\d+):(?P<ended>\d{1,11}):(?P<caller>[^:]*):(?P<dialled>[^:]+)"
)


class MissedCallers:
    """The keys of the database of Asterisk that the dialplan lists in a global variable, with the name of both.

    The dialplan updates the variable when the next caller is missed. Until then it still lists forgotten keys.
    """

    def __init__(self, ari: Ari, name: str) -> None:
        self._ari, self._name = ari, name
        self._forgotten: set[str] = set()

    def listed(self) -> list[Missed]:
        answer = self._ari.send_if_there("GET", "asterisk", "variable", variable=self._name) or {}
        keys = str(answer.get("value", "")).split(",")
        self._forgotten.intersection_update(keys)
        found = [_MISSED.fullmatch(key) for key in keys if key not in self._forgotten]
        return [
            Missed(
                key=match[0],
                channel_id=match["channel"],
                began_at=datetime.fromtimestamp(int(match["began"]), UTC),
                ended_at=datetime.fromtimestamp(int(match["ended"]), UTC),
                caller=match["caller"],
                dialled=match["dialled"],
            )
            for match in found
            if match
        ]

    def forget(self, key: str) -> None:
        # ARI may not read this function, but writing to it has the same effect.
        self._ari.send("POST", "asterisk", "variable", variable=f"DB_DELETE({self._name}/{key})", value="1")
        self._forgotten.add(key)
