"""The theme of the admin: title, colours, scripts, and the places of its menus."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

THEME: dict[str, Any] = {
    "SITE_TITLE": _("Call centre"),
    "SITE_HEADER": _("Call centre"),
    "SITE_SYMBOL": "headset_mic",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("callcentre/icon.svg")}],
    "STYLES": [lambda request: static("callcentre/admin.css")],
    "SCRIPTS": [
        lambda request: static("callcentre/kept.js"),
        lambda request: static("callcentre/admin.js"),
        lambda request: static("callcentre/lists.js"),
        lambda request: static("callcentre/menu.js"),
        lambda request: static("callcentre/search.js"),
        lambda request: static("callcentre/shortcuts.js"),
        lambda request: static("tickets/ticket_links.js"),
        lambda request: static("callcentre/times.js"),
        lambda request: static("callcentre/update.js"),
        lambda request: static("callcentre/poll.js"),
    ],
    "SHOW_LANGUAGES": True,
    "LANGUAGES": {"action": "/admin/language"},
    "BORDER_RADIUS": "6px",
    "COLORS": {
        "primary": {
            "50": "oklch(97% .014 254.604)",
            "100": "oklch(93.2% .032 255.585)",
            "200": "oklch(88.2% .059 254.128)",
            "300": "oklch(80.9% .105 251.813)",
            "400": "oklch(70.7% .165 254.624)",
            "500": "oklch(62.3% .214 259.815)",
            "600": "oklch(54.6% .245 262.881)",
            "700": "oklch(48.8% .243 264.376)",
            "800": "oklch(42.4% .199 265.638)",
            "900": "oklch(37.9% .146 265.522)",
            "950": "oklch(28.2% .091 267.935)",
        },
    },
    "LOGIN": {"form": "callcentre.web.login.LoginForm"},
    "DASHBOARD_CALLBACK": "callcentre.web.menu.dashboard",
    "ACCOUNT": {
        "navigation": [
            {"title": _("Change password"), "link": reverse_lazy("admin:password_change")},
            {"title": _("Two-factor log-in"), "link": reverse_lazy("second-factor")},
            {"title": _("Sessions"), "link": reverse_lazy("own-sessions")},
            {"title": _("API documentation"), "link": reverse_lazy("docs")},
        ],
    },
}
