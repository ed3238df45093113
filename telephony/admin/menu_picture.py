"""The picture of a menu: a tree of its keys, as SVG. A menu that was drawn before is named, and not drawn again."""

from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from telephony.models import Menu, MenuEntry

# In points: a line of the tree, a level, a box.
LINE, LEVEL, WIDTH, HEIGHT = 34, 250, 200, 26
# The most levels and boxes of a picture.
DEPTH, MOST = 6, 200
LONGEST = 26


@dataclass(frozen=True, slots=True)
class Box:
    key: str
    text: str
    kind: str
    depth: int
    line: int
    # The line of the box that leads here.
    parent: int


def picture(menu: Menu) -> SafeString:
    """Return the tree as an SVG element."""
    tree = _Tree()
    tree.add(menu, "", 0, 0)
    size = (max(box.depth for box in tree.boxes) * LEVEL + WIDTH + 2, len(tree.boxes) * LINE)
    drawn = format_html_join("", "{}", ((_box(box),) for box in tree.boxes))
    title = _("Where the keys of the menu lead")
    return format_html(
        '<svg class="cc-menu" role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">{}</svg>',
        title, *size, *size, drawn,
    )  # fmt: skip


class _Tree:
    """The boxes, one in each line."""

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self._drawn: set[int] = set()
        self._entries: dict[int, list[MenuEntry]] = {}
        for entry in MenuEntry.objects.select_related("to_menu__end_queue", "queue", "while_open"):
            self._entries.setdefault(entry.menu_id, []).append(entry)

    def add(self, menu: Menu, key: str, depth: int, parent: int) -> None:
        line = len(self.boxes)
        is_new = menu.pk not in self._drawn and depth < DEPTH
        self.boxes.append(Box(key, menu.name if is_new else f"{menu.name} ↑", "menu", depth, line, parent))
        if not is_new:
            return
        self._drawn.add(menu.pk)
        for entry in self._entries.get(menu.pk, []):
            if len(self.boxes) >= MOST:
                return
            label = f"{entry.key} ({entry.while_open})" if entry.while_open else entry.key
            if entry.to_menu:
                self.add(entry.to_menu, label, depth + 1, line)
            else:
                kind = "queue" if entry.queue else "number" if entry.number else "information"
                self.boxes.append(Box(label, entry.place, kind, depth + 1, len(self.boxes), line))
        end = str(menu.end_queue or menu.end_number) or _("the call ends")
        self.boxes.append(Box("…", end, "end", depth + 1, len(self.boxes), line))


def _box(box: Box) -> SafeString:
    x, y = box.depth * LEVEL + 1, box.line * LINE + 4
    link = SafeString("")
    if box.depth:
        left, top, middle = (box.depth - 1) * LEVEL + 12, box.parent * LINE + 4 + HEIGHT, y + HEIGHT // 2
        link = format_html(
            '<path d="M{} {}V{}H{}"/><text class="cc-menu-key" x="{}" y="{}">{}</text>',
            left, top, middle, x, left + 6, middle - 4, _cut(box.key),
        )  # fmt: skip
    return format_html(
        '{}<rect class="cc-menu-{}" x="{}" y="{}" width="{}" height="{}" rx="5"/><text x="{}" y="{}">{}</text>',
        link, box.kind, x, y, WIDTH, HEIGHT, x + 8, y + 17, _cut(box.text),
    )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
