"""Files of the demonstration: drawn when they are needed."""

import io

from PIL import Image, ImageDraw

from tickets.file_storage import store
from tickets.models import Message, StoredFile

_WORDS = {"parcel.png": "The box, as it came", "order.pdf": "Order", "label.pdf": "Return label"}


def attach_file(message: Message, filename: str) -> None:
    """One of the files, with the message's number on it, as its attachment."""
    content = _draw(filename, f"{_WORDS[filename]} {message.pk}")
    stored = store(io.BytesIO(content), len(content))
    StoredFile.of(stored, filename, message=message, created_at=message.created_at).save(force_insert=True)
    Message.objects.filter(pk=message.pk).update(attachments=[stored.token])


def _draw(filename: str, words: str) -> bytes:
    image = Image.new("RGB", (480, 320), "#f8fafc")
    draw = ImageDraw.Draw(image)
    draw.rectangle((40, 40, 440, 280), fill="#d6b98c", outline="#8a6d3b", width=4)
    draw.text((70, 150), words, fill="#1f2937", font_size=28)
    content = io.BytesIO()
    image.save(content, format=filename.rpartition(".")[2].upper())
    return content.getvalue()
