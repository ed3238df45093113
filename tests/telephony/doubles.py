"""A switch that records its commands and does nothing else."""

from collections.abc import Iterator, Sequence
from typing import Any

from telephony.switch.base import Channel, Event, Missed
from tests.network_guard import refuse_in_transaction


class RecordingSwitch:
    """`told`: the commands in order, with the cause of a hang-up unless it is the usual one.

    `refusals`: command -> the error it is answered with.
    """

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.refusals: dict[str, Exception] = {}
        self.listed: list[Channel] = []
        self.listed_bridges: list[str] = []
        self.listed_offline: list[str] = []
        self.listed_missed: list[Missed] = []
        self.followed: list[str] = []

    def _take(self, command: str, *args: Any) -> None:
        refuse_in_transaction(command)
        self.told.append((command, *args))
        if command in self.refusals:
            raise self.refusals[command]

    def ping(self) -> None:
        refuse_in_transaction("ping")
        if "ping" in self.refusals:
            raise self.refusals["ping"]

    def follow(self, channel_id: str) -> None:
        """Asked for of each caller, so it is kept apart."""
        refuse_in_transaction("follow")
        self.followed.append(channel_id)
        if "follow" in self.refusals:
            raise self.refusals["follow"]

    def add_phone(self, number: str, password: str) -> None:
        self._take("add_phone", number)

    def remove_phone(self, number: str) -> None:
        self._take("remove_phone", number)

    def test_phone(self, number: str) -> None:
        self._take("test_phone", number)

    def call_agent(
        self, channel_id: str, number: str, *, presented: str, ring_seconds: int, is_awaited: bool = False
    ) -> None:
        self._take("call_agent", channel_id, number, presented)

    def call_number(self, channel_id: str, number: str, *, presented: str, ring_seconds: int) -> None:
        self._take("call_number", channel_id, number, presented)

    def answer(self, channel_id: str) -> None:
        self._take("answer", channel_id)

    def join(self, bridge_id: str, channel_ids: Sequence[str], *, record_as: str = "") -> None:
        self._take("join", bridge_id, *channel_ids)

    def destroy_bridge(self, bridge_id: str) -> None:
        self._take("destroy_bridge", bridge_id)

    def play_music(self, channel_id: str, music_class: str) -> None:
        self._take("play_music", channel_id, music_class)

    def stop_music(self, channel_id: str) -> None:
        self._take("stop_music", channel_id)

    def play_silence(self, channel_id: str) -> None:
        self._take("play_silence", channel_id)

    def play_ringing(self, channel_id: str) -> None:
        self._take("play_ringing", channel_id)

    def play_tone(self, channel_id: str) -> None:
        self._take("play_tone", channel_id)

    def stop_tone(self, channel_id: str) -> None:
        self._take("stop_tone", channel_id)

    def play(self, channel_id: str, sounds: Sequence[str], sound_id: str) -> None:
        self._take("play", channel_id, *sounds)

    def stop_play(self, sound_id: str) -> None:
        self._take("stop_play", sound_id)

    def record(self, channel_id: str, name: str, seconds: int) -> None:
        self._take("record", channel_id, name, seconds)

    def detect(self, channel_id: str) -> None:
        self._take("detect", channel_id)

    def listen(self, channel_id: str, customer: str, *, is_heard: bool) -> None:
        self._take("whisper" if is_heard else "listen", channel_id, customer)

    def barge(self, channel_id: str, bridge_id: str) -> None:
        self._take("barge", channel_id, bridge_id)

    def stop_listening(self, channel_id: str) -> None:
        self._take("stop_listening", channel_id)

    def hang_up(self, channel_id: str, cause: int = 16) -> None:
        self._take("hang_up", channel_id, *([] if cause == 16 else [cause]))

    def channels(self) -> list[Channel]:
        return self.listed

    def bridges(self) -> list[str]:
        return self.listed_bridges

    def offline_phones(self) -> list[str]:
        return self.listed_offline

    def missed(self) -> list[Missed]:
        return self.listed_missed

    def forget_missed(self, key: str) -> None:
        self._take("forget_missed", key)

    def events(self) -> Iterator[Event]:
        return iter(())

    def recording(self, name: str) -> Iterator[bytes]:
        return iter(())

    def remove_recording(self, name: str) -> None: ...

    def close(self) -> None: ...
