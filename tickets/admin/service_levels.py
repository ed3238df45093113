"""The pages of service levels and business calendars."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, Inline, WeekdaysInline, display, never
from tickets.admin.automation import ConditionalAdmin
from tickets.models import BusinessCalendar, CalendarHours, ClosedDay, ServiceLevel

MINUTES = ("first_response_minutes", "next_response_minutes", "resolution_minutes")


class HoursInline(WeekdaysInline):
    model = CalendarHours
    fields = ("weekday", "opens_at", "closes_at")


class ClosedDayInline(Inline):
    model = ClosedDay
    fields = ("day", "name")


@admin.register(BusinessCalendar)
class BusinessCalendarAdmin(Admin):
    """The hours of work by which targets count."""

    list_display = ("name", "time_zone", "country")
    list_display_links = ("name",)
    search_fields = ("name",)
    fields = ("name", "time_zone", "country")
    inlines = (HoursInline, ClosedDayInline)


@admin.register(ServiceLevel)
class ServiceLevelAdmin(ConditionalAdmin):
    """The times within which tickets are answered and closed. The first level whose conditions hold is a ticket's."""

    list_display = ("name", "order", "first_response", "next_response", "resolution", "calendar", "is_active")
    list_select_related = ("calendar",)
    own_fields = ("name", ("order", "is_active"), MINUTES, "calendar")
    has_delete_permission = never  # closed tickets have it: it is made inactive instead

    @display(description=_("first response within"), ordering="first_response_minutes")
    def first_response(self, level: ServiceLevel) -> str:
        return hours(level.first_response_minutes)

    @display(description=_("next response within"), ordering="next_response_minutes")
    def next_response(self, level: ServiceLevel) -> str:
        return hours(level.next_response_minutes)

    @display(description=_("resolution within"), ordering="resolution_minutes")
    def resolution(self, level: ServiceLevel) -> str:
        return hours(level.resolution_minutes)


def hours(minutes: int | None) -> str:
    return "–" if minutes is None else f"{minutes // 60}:{minutes % 60:02} h"
