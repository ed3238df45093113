"""The demonstration's topics of the queue Hotline, transfer shortcuts and evaluation criteria."""

import io

from PIL import Image, ImageDraw

from telephony.models import EvaluationCriterion, Queue, Topic, TopicField, TopicGroup, TransferShortcut

# Name, active, topics: name, active, with fields.
GROUPS = [
    (
        "Orders",
        True,
        [
            ("Where is my order?", True, True),
            ("Change or cancel an order", True, True),
            ("Complaint", True, True),
            ("Order by fax", False, False),
        ],
    ),
    ("Other", True, []),
    ("Christmas campaign", False, [("Gift vouchers", True, False)]),
]
FIELDS = [
    ("Order number", TopicField.Type.TEXT, True),
    ("What was agreed", TopicField.Type.LONG_TEXT, False),
]
CRITERIA = [
    ("Greeting", "The agent greets the customer and gives their name."),
    ("Need understood", "The agent repeats in their own words what the customer needs, or asks until it is clear."),
    ("Next step", "Before the call ends the agent says what happens next and by when."),
]


def seed(queue: Queue) -> None:
    """Add two active groups, one of them empty, an inactive group and an inactive topic. Existing rows stay."""
    for place, (name, is_active, topics) in enumerate(GROUPS, start=1):
        group, is_new = TopicGroup.objects.get_or_create(
            queue=queue, name=name, defaults={"is_active": is_active, "order": 10 * place}
        )
        if is_new:
            Topic.objects.bulk_create(
                Topic(group=group, name=name, is_active=is_active, show_custom_fields=with_fields, order=10 * position)
                for position, (name, is_active, with_fields) in enumerate(topics, start=1)
            )
    for place, (name, kind, is_required) in enumerate(FIELDS, start=1):
        values = {"type": kind, "is_required": is_required, "order": 10 * place}
        TopicField.objects.get_or_create(queue=queue, name=name, defaults=values)
    for place, (name, description) in enumerate(CRITERIA, start=1):
        values = {"description": description, "order": 10 * place}
        EvaluationCriterion.objects.get_or_create(name=name, defaults=values)
    _shortcut("Back to the hotline", "#2563eb", queue=queue)
    _shortcut("Warehouse", "#16a34a", number="+48225550190")


def _shortcut(name: str, colour: str, queue: Queue | None = None, number: str = "") -> None:
    if not TransferShortcut.objects.filter(name=name).exists():
        TransferShortcut.objects.create(name=name, queue=queue, number=number, icon=_icon(colour, is_queue=bool(queue)))


def _icon(colour: str, *, is_queue: bool) -> bytes:
    """Draw three people in a row for a queue, an arrow for a number."""
    image = Image.new("RGBA", (64, 64))
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((0, 0, 63, 63), radius=14, fill=colour)
    if is_queue:
        for left in (10, 25, 40):
            draw.ellipse((left + 2, 18, left + 12, 28), fill="white")
            draw.rounded_rectangle((left, 31, left + 14, 47), radius=5, fill="white")
    else:
        draw.line((14, 32, 40, 32), fill="white", width=7)
        draw.polygon([(36, 16), (54, 32), (36, 48)], fill="white")
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
