"""The message of dropped calls: uploaded, converted, and found by the switch."""

import io
import json
import struct
import wave
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile

from callcentre.core.file_removals import remove_files
from callcentre.core.limited_process import BeyondLimits
from campaigns.dialling.drop_messages import set_message, sound_of
from campaigns.models import Campaign
from campaigns.verbs.campaigns import clone_campaign, remove_campaign
from telephony.wav import mend, to_telephone
from tests.backoffice import page_of, superuser
from tests.campaigns.factories import CampaignFactory
from tests.conftest import ACTOR
from tests.processes import wait_for
from tests.telephony.switch import ari_media
from tests.telephony.switch.ari_pbx import Pbx

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def wav(seconds: float = 1, rate: int = 44_100, channels: int = 2, width: int = 2) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(bytes(int(seconds * rate) * channels * width))
    return buffer.getvalue()


@pytest.fixture
def campaign():
    campaign: Campaign = CampaignFactory()
    set_message(campaign, ACTOR, to_telephone(io.BytesIO(wav())))
    return campaign


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize(("rate", "channels"), [(44_100, 2), (8000, 1), (16_000, 1), (48_000, 2), (6000, 1)])
def test_any_plain_wav_becomes_one_for_the_telephone(width, rate, channels):
    sound = to_telephone(io.BytesIO(wav(0.5, rate, channels, width)))

    with wave.open(io.BytesIO(sound), "rb") as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 8000)
        assert file.getnframes() == pytest.approx(4000, abs=2)


def test_the_samples_stay_what_they_were():
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((2, 2, 16_000, 0, "NONE", ""))
        file.writeframes(struct.pack("<8h", 1000, 3000, 2000, 4000, -1000, -3000, -1000, -3000))
    buffer.seek(0)

    assert to_telephone(buffer)[44:] == struct.pack("<2h", 2500, -2000)


@pytest.mark.parametrize(
    "content",
    [b"", b"MP3", wav()[:30], wav(0), wav(61, 8000, 1), wav(50, 1, 1), wav(1, 200_000, 1), wav(1, 8000, 3)],
    ids=range(8),
)
def test_anything_else_is_refused(content):
    with pytest.raises(ValidationError):
        to_telephone(io.BytesIO(content))


@pytest.mark.parametrize(
    ("read", "refusal"), [(to_telephone, ValidationError), (lambda file: mend(file, 0), wave.Error)]
)
def test_a_file_of_many_parts_is_not_read_through(read, refusal):
    class File(io.BytesIO):
        reads = 0

        def read(self, size=-1):
            self.reads += 1
            return super().read(size)

    file = File(wav(1)[:36] + b"none\0\0\0\0" * 100_000 + wav(1)[36:])

    with pytest.raises(refusal):
        read(file)
    assert file.reads <= 100


def test_a_sound_is_read_in_the_limited_process(monkeypatch):
    def refuse(*args):
        raise BeyondLimits

    monkeypatch.setattr("callcentre.core.limited_process._run_apart", refuse)

    with pytest.raises(ValidationError):
        to_telephone(io.BytesIO(wav()))


def test_the_message_is_uploaded_and_removed_on_its_page():
    campaign = CampaignFactory()
    browser = superuser()
    page = page_of(campaign, "drop_message")

    answer = browser.post(page, {"sound": SimpleUploadedFile("sorry.wav", b"no sound")})
    assert (answer.status_code, "This is no WAV file" in answer.content.decode()) == (200, True)

    upload = SimpleUploadedFile("sorry.wav", wav(), "audio/wav")
    assert browser.post(page, {"sound": upload}).status_code == 302
    campaign.refresh_from_db()
    assert campaign.drop_message.read()[:4] == b"RIFF"

    assert browser.post(page, {}).status_code == 302
    campaign.refresh_from_db()
    assert not campaign.drop_message


def test_a_clone_has_a_copy_of_the_message_of_its_own_unless_the_file_is_lost(campaign):
    clone = clone_campaign(campaign, ACTOR, name="Second round")

    content = campaign.drop_message.read()
    assert Campaign.objects.get(pk=clone.pk).drop_message.read() == content
    set_message(campaign, ACTOR, None)
    remove_files()
    assert Campaign.objects.get(pk=clone.pk).drop_message.read() == content
    default_storage.delete(str(clone.drop_message.name))
    assert not clone_campaign(clone, ACTOR, name="Third round").drop_message


def test_asterisk_fetches_the_message_from_a_signed_address(campaign, settings, client):
    settings.SWITCH_BACKEND, settings.SOUNDS_URL = "asterisk", "http://callcentre.example"

    address = sound_of(campaign)

    assert address.startswith("http://callcentre.example/sounds/")
    answer = client.get(address.removeprefix("http://callcentre.example"))
    assert answer.status_code == 200
    assert answer["Content-Type"] == "audio/wav"
    assert answer.getvalue()[:4] == b"RIFF"


def test_a_person_hears_the_message_that_asterisk_fetches_over_http(campaign, settings, live_server):
    settings.SWITCH_BACKEND, settings.SOUNDS_URL = "asterisk", live_server.url
    heard: list[bytes] = []
    pbx = Pbx()
    pbx.connect(["callcentre"], heard.append)
    line = pbx.call_in("+48600100200", "+48225550100")
    assert line is not None

    def ends():
        events = [json.loads(event) for event in list(heard)]
        return [event["playback"]["state"] for event in events if event["type"] == "PlaybackFinished"]

    with pbx.lock:
        ari_media.play(pbx, line, f"sound:{sound_of(campaign)}")
    wait_for(ends, "the end of the message", seconds=30)
    pbx.close()

    assert ends() == ["done"]


def test_an_address_without_a_right_signature_is_unknown(campaign, settings, client):
    settings.SOUNDS_URL = "http://callcentre.example"
    path = sound_of(campaign).removeprefix("http://callcentre.example")

    assert client.get(path.replace("/sounds/", "/sounds/x")).status_code == 404
    set_message(campaign, ACTOR, None)
    remove_files()
    assert client.get(path).status_code == 404


def test_asterisk_finds_the_message_in_a_shared_folder(campaign, settings, tmp_path):
    settings.SWITCH_BACKEND, settings.SOUNDS_FOLDER = "asterisk", str(tmp_path / "callcentre")
    (tmp_path / "callcentre").mkdir()

    name = sound_of(campaign)

    assert name.startswith("callcentre/")
    assert (tmp_path / f"{name}.wav").read_bytes()[:4] == b"RIFF"
    assert sound_of(campaign) == name


def test_the_folder_has_a_copy_of_each_message_under_a_name_of_its_own(campaign, settings, tmp_path):
    """The storage gives the name of a removed file again, and the copy in the folder stays."""
    settings.SWITCH_BACKEND, settings.SOUNDS_FOLDER = "asterisk", str(tmp_path)
    code, first = campaign.code, to_telephone(io.BytesIO(wav()))
    sound_of(campaign)
    remove_campaign(campaign, ACTOR)
    remove_files()
    assert not default_storage.exists(str(campaign.drop_message.name))
    other = CampaignFactory(code=code)
    set_message(other, ACTOR, to_telephone(io.BytesIO(wav(2))))

    copy = tmp_path / f"{Path(sound_of(other)).name}.wav"

    assert copy.read_bytes() != first
    assert copy.read_bytes() == other.drop_message.read()


def test_without_a_way_to_asterisk_there_is_no_message(campaign, settings):
    settings.SWITCH_BACKEND = "asterisk"

    assert sound_of(campaign) == ""
