"""Legal calling hours in the admin."""

from django.contrib import admin
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, display
from campaigns.models import LegalHours


@admin.register(LegalHours)
class LegalHoursAdmin(Admin):
    """The list answers when numbers of a country may be called, and by which law."""

    list_display = ("name", "prefix_shown", "weekdays", "span", "allows_holidays", "dates", "holds_today", "source")
    list_display_links = ("name",)
    search_fields = ("name", "prefix", "source")
    search_help_text = _("Name, prefix or source")
    fieldsets = (
        (None, {"fields": ("name", "prefix", "source")}),
        (_("When"), {"fields": ("weekdays", ("begins_at", "ends_at"), ("allows_holidays", "holiday_country"))}),
        (_("Validity"), {"fields": (("valid_from", "valid_until"),)}),
    )

    @display(description=_("country prefix"), ordering="prefix")
    def prefix_shown(self, row: LegalHours) -> str:
        return f"+{row.prefix}"

    @display(description=_("hours"))
    def span(self, row: LegalHours) -> str:
        return f"{row.begins_at:%H:%M}–{row.ends_at:%H:%M}"

    @display(description=_("valid"))
    def dates(self, row: LegalHours) -> str:
        first, last = (day.isoformat() if day else "…" for day in (row.valid_from, row.valid_until))
        return "" if row.valid_from is None and row.valid_until is None else f"{first} – {last}"

    @display(description=_("holds today"), boolean=True)
    def holds_today(self, row: LegalHours) -> bool:
        today = timezone.localdate()
        return (row.valid_from or today) <= today <= (row.valid_until or today)
