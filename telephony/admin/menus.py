"""Menus before queues: their keys and prompts, a picture of where the keys lead, and a page that tries them."""

import itertools
from collections import defaultdict
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminFileFieldWidget

from callcentre.admin import Admin, Inline, display, never, page_action
from callcentre.admin.theme import ModelForm
from callcentre.core.file_removals import FileRemoval
from telephony import sounds
from telephony.calls import prompts
from telephony.models import Menu, MenuEntry, Prompt
from telephony.samples import BYTES, RATE
from telephony.wav import to_telephone

# Of the WAV that `to_telephone` makes.
HEADER_BYTES = 44


class SoundField(forms.FileField):
    """A WAV file. Its value is the sound as switches play it, or None."""

    widget = UnfoldAdminFileFieldWidget(attrs={"accept": ".wav,audio/wav"})

    def clean(self, data: Any, initial: Any = None) -> bytes | None:
        file = super().clean(data, initial)
        if not file:
            return None
        if file.size > settings.MAX_UPLOAD_MB * 1024 * 1024:
            raise forms.ValidationError(_("The file is too large."))
        return to_telephone(file)


class PromptForm(ModelForm):
    sound = SoundField(label=_("WAV file"), required=False)

    class Meta:
        model = Prompt
        fields = ("kind", "language", "number")

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.instance.file and not values.get("sound") and "sound" not in self.errors:
            self.add_error("sound", _("Choose a WAV file."))
        return values

    def save(self, commit: bool = True) -> Any:
        if sound := self.cleaned_data["sound"]:
            if self.instance.file:
                FileRemoval.add([self.instance.file.name])
            sounds.store(self.instance.file, sound)
            self.instance.seconds = (len(sound) - HEADER_BYTES) / BYTES / RATE
        return super().save(commit)


class PromptInline(Inline):
    tab = True
    model = Prompt
    form = PromptForm
    fields = ("kind", "language", "number", "sound", "listen")
    readonly_fields = ("listen",)
    verbose_name_plural = _("prompts")
    kinds: tuple[str, ...] = Prompt.OF_QUEUE

    def formfield_for_choice_field(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        if db_field.name == "kind":
            kwargs["choices"] = [("", "---------"), *((kind, Prompt.Kind(kind).label) for kind in self.kinds)]
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    @display(description=_("sound"))
    def listen(self, prompt: Prompt) -> str:
        if not prompt.file:
            return "–"
        address, label = sounds.signed_path(str(prompt.file.name)), _now("Listen")
        return format_html('<a class="cc-link" href="{}">{}</a> {} s', address, label, f"{prompt.seconds:.1f}")


# The most levels and places of a picture.
DEPTH, MOST = 6, 200


def picture(menu: Menu) -> SafeString:
    """Return the tree of the keys as nested lists. A menu is drawn once, and named where another key leads to it."""
    entries = defaultdict[int, list[MenuEntry]](list)
    for entry in MenuEntry.objects.select_related("to_menu__end_queue", "queue", "while_open"):
        entries[entry.menu_id].append(entry)
    drawn, places = set[int](), itertools.count()

    def tree(menu: Menu, depth: int) -> SafeString:
        if menu.pk in drawn or depth == DEPTH:
            return _box("menu", f"{menu.name} ↑")
        drawn.add(menu.pk)
        lines = []
        for entry in itertools.takewhile(lambda entry: next(places) < MOST, entries[menu.pk]):
            key = f"{entry.key} ({entry.while_open})" if entry.while_open else entry.key
            kind = "queue" if entry.queue else "number" if entry.number else "information"
            lines.append((key, tree(entry.to_menu, depth + 1) if entry.to_menu else _box(kind, entry.place)))
        lines.append(("…", _box("end", str(menu.end_queue or menu.end_number) or _now("the call ends"))))
        below = format_html_join("", "<li><kbd>{}</kbd>{}</li>", lines)
        return format_html("{}<ul>{}</ul>", _box("menu", menu.name), below)

    return format_html('<div class="cc-menu">{}</div>', tree(menu, 0))


def _box(kind: str, text: str) -> SafeString:
    return format_html('<span class="cc-menu-box cc-menu-{}">{}</span>', kind, text)


MOST_KEYS = 100
# The end of the wait for a key, in the address of a trial.
NO_KEY = "t"


class EntryInline(Inline):
    tab = True
    model = MenuEntry
    fk_name = "menu"
    fields = ("key", "while_open", "to_menu", "queue", "number", "information")
    autocomplete_fields = ("while_open", "to_menu", "queue")
    verbose_name_plural = _("keys")


class MenuPromptInline(PromptInline):
    kinds = Prompt.OF_MENU


@admin.register(Menu)
class MenuAdmin(Admin):
    """Menus that callers hear before they enter a queue."""

    list_display = ("name", "number", "end_queue", "end_number", "is_active")
    list_select_related = ("end_queue",)
    list_filter = ("is_active",)
    search_fields = ("name", "number")
    autocomplete_fields = ("end_queue",)
    fieldsets = (
        (None, {"fields": ("name", "number", "is_active", "prompt_language")}),
        (_("Without a key"), {"fields": ("key_seconds", "most_tries", "end_queue", "end_number")}),
    )
    inlines = (EntryInline, MenuPromptInline)
    change_form_outer_before_template = "admin/telephony/menu.html"
    actions_detail = ("try_out",)
    has_delete_permission = never  # calls refer to it: it is made inactive

    class Media:
        css = {"all": ["telephony/menu.css"]}

    def page_context(self, request: HttpRequest, obj: Menu | None) -> dict[str, Any]:
        return {"picture": picture(obj)} if obj else {}

    @page_action(description=_("Try the menu"), url_path="try", icon="dialpad", permissions=["view"])
    def try_out(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Walk through the menu from its beginning, by the keys in the address; nothing is stored."""
        menu: Menu = self.row_or_404(request, object_id, "view")
        keys = [key for key in request.GET.get("keys", "") if key in f"0123456789*#{NO_KEY}"][:MOST_KEYS]
        way, lines = prompts.Way(menu=menu), []
        for steps, key in enumerate(keys, start=1):
            if way.menu is None:
                break
            way = prompts.after(way.menu, way.tries, steps, "" if key == NO_KEY else key, timezone.now())
            lines.append((_now("no key") if key == NO_KEY else key, spelled(way)))
        typed = "".join(keys)
        pad = [(key, f"{typed}{key}") for key in "123456789*0#"]
        context = {
            "way": way,
            "lines": lines,
            "pad": pad,
            "wait": f"{typed}{NO_KEY}",
            "back": self.url_of("change", menu.pk),
        }
        return self.page(request, "admin/telephony/menu_trial.html", menu, title=_now("Try the menu"), **context)


def spelled(way: prompts.Way) -> str:
    if way.menu:
        facts = {"menu": way.menu.name, "number": way.information}
        if way.is_wrong:
            return _now("“No such choice”, then the menu %(menu)s") % facts
        if way.information is not None:
            return _now("information %(number)s, then the menu %(menu)s") % facts
        return _now("the menu %(menu)s") % facts
    if way.queue:
        is_open = way.queue.is_open(timezone.now())
        sentence = _now("the queue %(queue)s") if is_open else _now("the queue %(queue)s, which is closed now")
        return sentence % {"queue": way.queue.name}
    return _now("the number %(number)s") % {"number": way.number} if way.number else _now("the call ends")
