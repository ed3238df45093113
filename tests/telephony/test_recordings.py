"""Recordings: expected, fetched once, announced, kept for a time, removed."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core.due_work import NotOurs
from telephony import recording_files
from telephony.models import Recording, Transcription
from telephony.switch.base import SwitchError, SwitchUnreachable
from telephony.verbs import recordings
from telephony.verbs.recordings import REFUSED_ATTEMPTS
from tests.conftest import ACTOR
from tests.serving import at_once
from tests.telephony.factories import ConnectionFactory, RecordingFactory
from tests.telephony.sound import RecorderSwitch, wav
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]

State = Recording.State


@pytest.fixture(autouse=True)
def switch(settings, monkeypatch):
    settings.SWITCH_BACKEND = "tests.telephony.sound.RecorderSwitch"
    monkeypatch.setattr(RecorderSwitch, "recordings", {})
    monkeypatch.setattr(RecorderSwitch, "removed", [])
    monkeypatch.setattr(RecorderSwitch, "is_reachable", True)
    return RecorderSwitch


def at_the_switch(content: bytes = wav(1000), **values: Any) -> Recording:
    """A recording that is due to be fetched, and that the switch has."""
    recording: Recording = RecordingFactory(**({"fetching": True} | values))
    RecorderSwitch.recordings[recording.name] = content
    return recording


def events() -> list[Any]:
    return list(Event.objects.filter(action="RECORDING_READY").values_list("payload", flat=True))


def state_of(recording: Recording) -> tuple[str, int]:
    recording.refresh_from_db()
    return recording.state, recording.attempt_count


def test_a_recording_that_can_be_read_is_fetched_stored_announced_and_removed_from_the_switch(switch):
    call = ConnectionFactory()
    name = recordings.expect(call)
    switch.recordings[name] = wav(1000, seconds=1.5)

    recordings.finish(name)
    recording = Recording.objects.get()
    recording_files.fetch(recording.pk)

    assert state_of(recording) == (State.READY, 1)
    assert (recording.seconds, recording.size) == (1.5, len(switch.recordings[name]))
    with default_storage.open(recording.path) as file:
        assert file.read() == switch.recordings[name]
    assert events() == [{"connection_id": call.uid, "filename": f"{call.uid}.wav"}]
    assert switch.removed == [name]


def test_a_repeated_end_of_a_recording_fetches_it_once(switch):
    recording = RecordingFactory()
    switch.recordings[recording.name] = wav(1000)

    for _ in range(2):
        recordings.finish(recording.name)
        recording_files.fetch(recording.pk)

    assert state_of(recording) == (State.READY, 1)
    assert len(events()) == 1


def test_beginning_twice_is_one_recording():
    call = ConnectionFactory()

    assert recordings.expect(call) == recordings.expect(call) == call.uid
    assert Recording.objects.count() == 1


def test_a_recording_that_the_switch_could_not_make_has_failed():
    recording = RecordingFactory()

    recordings.finish(recording.name, is_failed=True)

    assert state_of(recording) == (State.FAILED, 0)


@pytest.mark.parametrize(("seconds", "is_kept"), [(0, False), (1, False), (2, True)])
def test_a_call_that_is_over_at_once_leaves_no_failed_recording(seconds, is_kept, switch):
    start = timezone.now().replace(microsecond=0) - timedelta(minutes=5)
    over = ConnectionFactory(answered_at=start, ended_at=start + timedelta(seconds=seconds))
    failed = RecordingFactory(connection=over, started_at=start)
    absent = RecordingFactory(connection=over, name=f"{over.uid}-2", started_at=start, fetching=True)

    recordings.finish(failed.name, is_failed=True)
    for _ in range(REFUSED_ATTEMPTS):
        Recording.objects.filter(pk=absent.pk).update(next_attempt_at=timezone.now())
        recording_files.fetch(absent.pk)

    assert set(Recording.objects.values_list("state", flat=True)) == ({State.FAILED} if is_kept else set())


def test_an_unknown_recording_is_ignored():
    recordings.finish("somebody's")

    assert not Recording.objects.exists()


def test_an_unreachable_switch_is_asked_again_later_until_the_last_time(switch):
    switch.is_reachable = False
    recording = RecordingFactory(fetching=True)

    for attempt, delay in enumerate(Recording.delays, start=1):
        before = timezone.now()
        recording_files.fetch(recording.pk)
        assert state_of(recording) == (State.FETCHING, attempt)
        assert recording.next_attempt_at is not None
        assert recording.next_attempt_at >= before + delay
        recording_files.fetch(recording.pk)  # not due yet
        assert state_of(recording) == (State.FETCHING, attempt)
        Recording.objects.update(next_attempt_at=timezone.now())
    recording_files.fetch(recording.pk)

    assert state_of(recording) == (State.FAILED, len(Recording.delays) + 1)
    assert recording.error == "connection refused"
    assert events() == []


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, "There is no such recording."),
        (b"<html>Not found</html>", "no WAV"),
        (b"", "no WAV"),
        (wav(1000, seconds=0), "no WAV with sound: it is empty"),
    ],
)
def test_a_file_that_is_no_recording_fails_soon(switch, content, error):
    recording = RecordingFactory(fetching=True)
    if content is not None:
        switch.recordings[recording.name] = content

    for _ in range(3):
        recording_files.fetch(recording.pk)
        Recording.objects.update(next_attempt_at=timezone.now())

    assert state_of(recording) == (State.FAILED, 3)
    assert error in recording.error


def test_a_worker_that_was_held_up_stores_nothing_over_its_successor(switch):
    recording = RecordingFactory(fetching=True)
    held_up = Recording.objects.claim(recording.pk)
    assert held_up
    recording_files.fetch(recording.pk)
    assert state_of(recording) == (State.FETCHING, 1)
    Recording.objects.update(next_attempt_at=timezone.now())  # the lease is over
    switch.recordings[recording.name] = wav(1000)
    recording_files.fetch(recording.pk)

    with pytest.raises(NotOurs):
        recordings.store(held_up, size=1, seconds=1)
    assert state_of(recording) == (State.READY, 2)
    assert len(events()) == 1


@pytest.mark.parametrize("length", [0, 0x7FFFFFF0, 0xFFFFFFFF])
def test_a_header_written_before_the_voice_is_mended(switch, length):
    recording = RecordingFactory(fetching=True)
    content = wav(1000, seconds=2)
    switch.recordings[recording.name] = content[:40] + length.to_bytes(4, "little") + content[44:]

    recording_files.fetch(recording.pk)

    assert state_of(recording) == (State.READY, 1)
    assert recording.seconds == 2
    with default_storage.open(recording.path) as file:
        assert file.read() == content


def test_recordings_are_read_from_a_folder_and_left_there(settings, tmp_path, switch):
    settings.RECORDINGS_FOLDER = str(tmp_path)
    recording = RecordingFactory(fetching=True)
    (tmp_path / f"{recording.name}.wav").write_bytes(wav(1000))

    recording_files.fetch(recording.pk)

    assert state_of(recording) == (State.READY, 1)
    assert (tmp_path / f"{recording.name}.wav").exists()
    assert switch.removed == []


def test_a_folder_that_is_not_mounted_is_looked_into_for_hours(settings, tmp_path):
    settings.RECORDINGS_FOLDER = str(tmp_path / "nowhere")
    recording = RecordingFactory(fetching=True)

    for _ in Recording.delays:
        recording_files.fetch(recording.pk)
        assert state_of(recording)[0] == State.FETCHING
        Recording.objects.update(next_attempt_at=timezone.now())
    recording_files.fetch(recording.pk)

    assert state_of(recording)[0] == State.FAILED


def test_a_failed_recording_is_fetched_again_on_request(switch):
    failed, ready = RecordingFactory(state="failed", attempt_count=7), RecordingFactory(ready=True)
    switch.recordings[failed.name] = wav(1000)

    assert (recordings.fetch_again(failed, ACTOR), recordings.fetch_again(ready, ACTOR)) == (True, False)
    recording_files.fetch(failed.pk)

    assert state_of(failed) == (State.READY, 1)


def test_the_sweep_fetches_a_recording_without_an_end_event(switch):
    over = RecordingFactory()
    going_on = RecordingFactory(connection__talking=True)

    recording_files.sweep(timezone.now())

    assert state_of(over)[0] == State.FETCHING
    assert state_of(going_on)[0] == State.EXPECTED


def test_recordings_are_removed_when_they_were_kept_for_long_enough(settings, switch):
    old, new = at_the_switch(), at_the_switch()
    for recording in (old, new):
        recording_files.fetch(recording.pk)
    path = Recording.objects.get(pk=old.pk).path
    Recording.objects.filter(pk=old.pk).update(ready_at=timezone.now() - settings.RECORDING_RETENTION)

    recording_files.prune(timezone.now() + timedelta(seconds=1))

    assert not default_storage.exists(path)
    assert (state_of(old)[0], old.file.name) == (State.REMOVED, "")
    assert state_of(new)[0] == State.READY
    assert default_storage.exists(new.path)


def test_a_finished_call_is_transcribed_once_all_its_recordings_are_there(settings, switch):
    settings.TRANSCRIPTION_URL = "http://127.0.0.1:9/v1"
    call = ConnectionFactory()
    first = RecordingFactory(connection=call, fetching=True)
    second = RecordingFactory(connection=call, fetching=True, name=f"{call.uid}-2")
    switch.recordings = {recording.name: wav(1000) for recording in (first, second)}

    recording_files.fetch(first.pk)
    assert not Transcription.objects.exists()
    recording_files.fetch(second.pk)

    assert Transcription.objects.get().status == "PENDING"


@pytest.mark.django_db(transaction=True)
def test_one_of_many_workers_fetches_a_recording(switch):
    recording = at_the_switch()

    at_once([partial(recording_files.fetch, recording.pk)] * 4)

    assert state_of(recording) == (State.READY, 1)
    assert len(events()) == 1


def left(recording: Recording) -> bool:
    """Whether the switch need not be asked any more."""
    recording.refresh_from_db()
    return recording.leaves_switch_at is None


def test_a_copy_that_the_switch_could_not_remove_is_removed_later(switch, monkeypatch):
    recording = at_the_switch()
    with monkeypatch.context() as patch:
        patch.setattr(switch, "remove_recording", unreachable)
        recording_files.fetch(recording.pk)
        recording_files.clear_switch(timezone.now())
        kept = state_of(recording)[0], left(recording)

    recording_files.clear_switch(timezone.now())
    early = left(recording)
    recording_files.clear_switch(timezone.now() + recording_files.AGAIN_AFTER)

    assert kept == (State.READY, False)
    assert (early, left(recording), switch.removed) == (False, True, [recording.name])


def test_a_copy_that_could_not_be_fetched_leaves_the_switch_in_time(switch, settings):
    recording = at_the_switch(b"no sound", attempt_count=len(Recording.delays))
    recording_files.fetch(recording.pk)
    recording_files.clear_switch(timezone.now())
    before = state_of(recording)[0], switch.removed[:]

    recording_files.clear_switch(timezone.now() + settings.RECORDING_RETENTION)

    assert before == (State.FAILED, [])
    assert (switch.removed, left(recording)) == ([recording.name], True)


def test_a_copy_that_is_fetched_again_stays_for_that(switch, settings):
    recording = RecordingFactory(state=State.FAILED, leaves_switch_at=timezone.now())
    recordings.fetch_again(recording, ACTOR)
    recording_files.clear_switch(timezone.now() + settings.RECORDING_RETENTION)

    assert switch.removed == []


def test_a_refused_removal_is_tried_again_and_holds_up_no_other(switch, monkeypatch):
    refused = RecordingFactory(ready=True, leaves_switch_at=timezone.now() - timedelta(seconds=1))
    other = RecordingFactory(ready=True, leaves_switch_at=timezone.now())
    real = switch.remove_recording

    def remove(self, name):
        if name == refused.name:
            raise SwitchError("500")
        real(self, name)

    monkeypatch.setattr(switch, "remove_recording", remove)
    recording_files.clear_switch(timezone.now())

    assert (left(other), left(refused)) == (True, False)
    assert refused.leaves_switch_at > timezone.now()


def test_a_folder_is_not_ours_to_clear(switch, settings, tmp_path):
    settings.RECORDINGS_FOLDER = str(tmp_path)
    recording = RecordingFactory(fetching=True)
    (tmp_path / f"{recording.name}.wav").write_bytes(wav(1000))
    recording_files.fetch(recording.pk)
    recording_files.clear_switch(timezone.now())

    assert (state_of(recording)[0], left(recording), switch.removed) == (State.READY, True, [])


def unreachable(self: Any, name: str) -> None:
    raise SwitchUnreachable("connection refused")
