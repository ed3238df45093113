"""Menus before queues: their keys and prompts, a picture of where the keys lead, and a page that tries them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, Inline, page_action
from telephony.admin.menu_picture import picture
from telephony.admin.prompts import PromptInline
from telephony.admin.undeletable import Undeletable
from telephony.calls import menus
from telephony.models import Menu, MenuEntry, Prompt

# The most keys of one trial.
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
class MenuAdmin(Undeletable, Admin):
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

    class Media:
        css = {"all": ["telephony/menu.css"]}

    def page_context(self, request: HttpRequest, obj: Menu | None) -> dict[str, Any]:
        return {"picture": picture(obj)} if obj else {}

    @page_action(description=_("Try the menu"), url_path="try", icon="dialpad", permissions=["view"])
    def try_out(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Walk through the menu from its beginning, by the keys in the address; nothing is stored."""
        menu: Menu = self.row_or_404(request, object_id, "view")
        keys = [key for key in request.GET.get("keys", "") if key in f"0123456789*#{NO_KEY}"][:MOST_KEYS]
        way, lines = menus.Way(menu=menu), []
        for steps, key in enumerate(keys, start=1):
            if way.menu is None:
                break
            way = menus.after(way.menu, way.tries, steps, "" if key == NO_KEY else key, timezone.now())
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


def spelled(way: menus.Way) -> str:
    """Return a sentence about what the caller hears next."""
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
