"""Topics, fields, criteria and transfer shortcuts as a supervisor keeps them."""

import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from PIL import Image

from telephony.models import EvaluationCriterion, Topic, TopicField, TopicGroup, TransferShortcut
from tests.backoffice import errors_of, inputs_of, superuser
from tests.telephony.factories import QueueFactory, TopicFactory, TopicFieldFactory, TopicGroupFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def address(model: str, page: str, *args: Any) -> str:
    return reverse(f"admin:telephony_{model}_{page}", args=args)


# Topics


def test_a_group_is_added_with_its_topics():
    queue = QueueFactory()

    superuser().submit(
        address("topicgroup", "add"),
        queue=queue.pk,
        name="Payments",
        **{"topics-TOTAL_FORMS": 1, "topics-0-name": "Invoice", "topics-0-show_custom_fields": "on"},
        **{"topics-0-is_active": "on", "topics-0-order": 10},
    )

    topic = Topic.objects.get()
    assert (topic.group.queue, topic.group.name, topic.name) == (queue, "Payments", "Invoice")
    assert topic.show_custom_fields


def test_a_name_that_the_group_has_already_is_refused():
    group = TopicFactory(name="Invoice").group
    added = {"topics-TOTAL_FORMS": 2, "topics-1-name": "Invoice", "topics-1-order": 1}

    response = superuser().submit(address("topicgroup", "change", group.pk), expected=200, **added)

    assert errors_of(response)
    assert Topic.objects.count() == 1


def test_the_type_of_a_field_and_the_queue_of_a_group_stay_as_they_are():
    field, group = TopicFieldFactory(type="TEXT"), TopicGroupFactory()
    client = superuser()

    client.submit(address("topicfield", "change", field.pk), type="NUMBER", name="Renamed")
    client.submit(address("topicgroup", "change", group.pk), queue=QueueFactory().pk, name="Renamed")

    assert TopicField.objects.get().type == "TEXT"
    assert TopicGroup.objects.get().queue == group.queue


def test_a_criterion_is_added():
    superuser().submit(address("evaluationcriterion", "add"), name="Greeting", description="The agent greets.")

    assert EvaluationCriterion.objects.get().description == "The agent greets."


# Transfer shortcuts


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 20), **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, "#2563eb").save(buffer, kind, **options)
    return buffer.getvalue()


def upload(filename: str, content: bytes, *, expected: int = 302, **values: Any) -> Any:
    client = superuser()
    path = address("transfershortcut", "add")
    data = {**inputs_of(client.page(path)), "name": "Warehouse", "number": "+48225550190", **values}
    response = client.post(path, {**data, "upload": SimpleUploadedFile(filename, content)})
    assert response.status_code == expected, errors_of(response)
    return response


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_is_kept_as_a_png_and_answered_in_base64(kind, api):
    upload("whatever.txt", picture(kind, (600, 300)))

    shortcut = TransferShortcut.objects.get()
    kept = Image.open(io.BytesIO(bytes(shortcut.icon)))
    assert (kept.format, kept.size) == ("PNG", (256, 128))
    assert api.get("/api/system/transfer_shortcuts").json() == [
        {
            "transfer_shortcut_id": shortcut.pk,
            "queue": "",
            "number": "+48225550190",
            "icon": shortcut.icon_base64,
            "name": "Warehouse",
        }
    ]


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("icon.svg", SVG),
        ("icon.png", SVG),
        ("icon.png", b"GIF89a"),
        ("icon.png", picture()[:60]),
        ("icon.png", b"MZ" + bytes(2000)),
        ("icon.bmp", picture("BMP")),
        ("icon.png", picture(size=(5000, 1))),
        ("icon.png", picture("PNG") + bytes(600 * 1024)),
    ],
    ids=["svg", "svg called png", "no gif", "half a png", "program", "bmp", "too many points", "too large"],
)
def test_files_other_than_small_pictures_are_refused(name, content):
    response = upload(name, content, expected=200)

    assert set(errors_of(response)) == {"upload"}
    assert not TransferShortcut.objects.exists()


def test_the_help_text_of_the_icon_is_translated_for_each_reader():
    client, path = superuser(), address("transfershortcut", "add")

    in_polish = client.get(path, headers={"accept-language": "pl"}).content.decode()
    in_english = client.get(path, headers={"accept-language": "en"}).content.decode()

    assert "najwyżej 512 kB" in in_polish
    assert "at most 512 kB" in in_english


def test_content_hidden_in_a_picture_is_not_stored():
    upload("icon.png", picture("PNG") + b"<script>alert(1)</script>")
    upload("icon.jpg", picture("JPEG", comment=b"<script>alert(1)</script>"), name="Other")

    assert not any(b"script" in bytes(shortcut.icon) for shortcut in TransferShortcut.objects.all())


def test_an_icon_stays_until_it_is_replaced_or_removed():
    upload("icon.png", picture())
    shortcut = TransferShortcut.objects.get()
    client = superuser()
    page = address("transfershortcut", "change", shortcut.pk)

    client.submit(page, name="Depot")
    assert (TransferShortcut.objects.get().name, TransferShortcut.objects.get().icon) == ("Depot", shortcut.icon)
    assert f"data:image/png;base64,{shortcut.icon_base64}" in client.page(page).replace("&#x2B;", "+")
    client.submit(page, remove_icon="on")

    assert bytes(TransferShortcut.objects.get().icon) == b""


@pytest.mark.parametrize("is_both", [True, False])
def test_a_shortcut_leads_to_one_place(is_both):
    queue = QueueFactory()
    target = {"queue": queue.pk, "number": "1"} if is_both else {}

    response = superuser().submit(address("transfershortcut", "add"), expected=200, name="Nowhere", **target)

    assert "give one of them" in str(errors_of(response))
