"""The keys of the desk, as its list of shortcuts shows them. Buttons and fields have them in `data-hotkey`."""

from django.utils.translation import gettext_lazy as _

KEYS = (
    ("I", _("log in")),
    ("R", _("ready")),
    ("⇧1 … ⇧9", _("pause")),
    ("Q", _("log out")),
    ("M", _("outbound mode on or off")),
    ("L", _("begin or end the standing line")),
    ("D", _("enter a number to call")),
    ("B", _("call the last missed caller back")),
    ("A", _("call the offered record")),
    ("S", _("skip the offered record")),
    ("H", _("hold, or resume")),
    ("X", _("hang up")),
    ("T", _("transfer")),
    ("1 … 9", _("give the result of the call")),
    ("N", _("write a note")),
    ("O", _("choose the topic")),
    ("C", _("open the next chat, and write")),
    ("G", _("go to my tickets")),
    ("J  K", _("next and previous ticket or chat")),
    ("Ctrl + Enter", _("send what is being written")),
    ("Esc", _("leave a field")),
    ("/", _("search")),
    ("?", _("show this list")),
)
