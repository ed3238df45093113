"""Pages of prompts, menus and screen pops."""

import io
import wave

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from callcentre.core.file_removals import FileRemoval
from telephony.models import Menu, Prompt, Queue, ScreenPop
from tests.backoffice import errors_of, page_of, superuser
from tests.campaigns.factories import CampaignFactory
from tests.telephony.factories import MenuFactory, PromptFactory, QueueFactory
from tests.tickets.factories import TicketQueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

ROW = {"prompts-TOTAL_FORMS": "1", "prompts-0-kind": "greeting", "prompts-0-language": "pl", "prompts-0-number": "0"}


def wav(seconds: float = 1.5) -> SimpleUploadedFile:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((2, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(int(seconds * 16_000) * 4))
    return SimpleUploadedFile("hello.wav", buffer.getvalue(), "audio/wav")


@pytest.mark.slow("opens many pages")
def test_a_prompt_is_uploaded_converted_replaced_and_removed_with_its_queue():
    queue, client = QueueFactory(), superuser()
    client.submit(page_of(queue), **ROW, **{"prompts-0-sound": wav()})

    prompt = Prompt.objects.get()
    first = prompt.file.name
    assert (prompt.queue, prompt.seconds, prompt.file.read()[:4]) == (queue, 1.5, b"RIFF")

    client.submit(page_of(queue), **{"prompts-0-sound": wav(3)})
    prompt.refresh_from_db()
    assert (prompt.seconds, FileRemoval.objects.filter(path=first).count()) == (3, 1)

    client.submit(page_of(queue), **{"prompts-0-DELETE": "on"})
    assert FileRemoval.objects.filter(path=prompt.file.name).exists()


@pytest.mark.parametrize("sound", [None, SimpleUploadedFile("hello.wav", b"MP3")])
def test_a_prompt_needs_a_sound(sound):
    files = {"prompts-0-sound": sound} if sound else {}
    response = superuser().submit(page_of(QueueFactory()), expected=200, **ROW, **files)

    assert "WAV" in str(errors_of(response))
    assert not Prompt.objects.exists()


def test_a_second_prompt_of_the_same_kind_is_refused():
    queue = QueueFactory()
    PromptFactory(queue=queue)
    row = {name.replace("-0-", "-1-"): value for name, value in ROW.items()} | {"prompts-TOTAL_FORMS": "2"}
    superuser().submit(page_of(queue), expected=200, **row, **{"prompts-1-sound": wav()})

    assert Prompt.objects.count() == 1


def test_the_ticket_queue_of_messages_is_chosen_among_the_active_ones():
    queue, tickets = QueueFactory(), TicketQueueFactory(name="Messages")
    superuser().submit(page_of(queue), voicemail_ticket_queue_id=str(tickets.pk))

    assert Queue.objects.get().voicemail_ticket_queue_id == tickets.pk


# Menus


@pytest.fixture
def menu():
    menu: Menu = MenuFactory(name="Main", most_tries=2, end_queue=QueueFactory(name="Front desk"))
    sales = MenuFactory(name="Sales <b>")
    menu.entries.create(key="1", queue=QueueFactory(name="Hotline"))
    menu.entries.create(key="2", to_menu=sales)
    sales.entries.create(key="9", to_menu=menu)
    menu.entries.create(key="3", information=7)
    return menu


def test_the_picture_shows_where_the_keys_lead_once_each(menu):
    page = superuser().page(page_of(menu))

    assert page.count("cc-menu-box") == 7
    assert all(
        text in page for text in (">Hotline<", ">Sales &lt;b&gt;<", ">Main ↑<", ">information 7<", ">Front desk<")
    )


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ("1", "the queue Hotline"),
        ("29", "the menu Main"),
        ("3", "information 7, then the menu Main"),
        ("8", "“No such choice”, then the menu Main"),
        ("tt", "the queue Front desk"),
        ("2ttt", "the call ends"),
    ],
)
def test_a_menu_is_tried_by_the_rules_of_calls(keys, sentence, menu):
    page = superuser().get(page_of(menu, "try_out"), {"keys": keys}).content.decode()

    assert f"</kbd> {sentence}</li>" in page


def test_a_key_that_leads_to_two_places_is_refused(menu):
    row = {"entries-TOTAL_FORMS": "4", "entries-3-key": "4", "entries-3-number": "112", "entries-3-information": "1"}
    response = superuser().submit(page_of(menu), expected=200, **row)

    assert "A key leads to one place" in str(errors_of(response))


# Screen pops


def test_a_screen_pop_is_of_a_campaign_or_a_queue_and_its_address_is_checked():
    client, campaign, add = superuser(), CampaignFactory(), reverse("admin:telephony_screenpop_add")
    values = {"name": "CRM", "moment": "answer", "way": "desk", "url": "https://crm.example/{number}"}
    client.submit(add, expected=200, **values)
    client.submit(add, expected=200, **{**values, "url": "javascript:{number}", "campaign": str(campaign.pk)})
    assert not ScreenPop.objects.exists()

    client.submit(add, **values, campaign=str(campaign.pk))

    assert ScreenPop.objects.get().campaign_id == campaign.pk
    assert campaign.name in client.page(reverse("admin:telephony_screenpop_changelist"))
