"""The filter of tickets for links from figures of the reports and of the overview."""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.admin import PeriodFilter
from callcentre.admin.periods import within
from callcentre.core.counted import Spans
from tickets.models import Message


class Counted(PeriodFilter):
    """Tickets that a figure counts. The arguments are an agent, or the queues: after two ages in days, if aged."""

    ways = {
        "closed": _("closed by an agent"),
        "replied": _("an agent replied"),
        "began": _("opened"),
        "ended": pgettext_lazy("tickets", "closed"),
        "reopened": _("opened again"),
        "responded": _("opened, with a first response"),
        "response_due": _("opened, answered or late"),
        "resolved": _("resolved"),
        "resolution_due": _("resolved, with a target"),
        "open": _("open at the end"),
        "aged": _("open at the end, by age"),
    }

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        if way == "closed":
            return Q(closed_by=arguments[0]) & within("closed_at", spans)
        if way == "replied":
            replies = Message.objects.filter(within("created_at", spans), type=Message.Type.REPLY, agent=arguments[0])
            return Q(pk__in=replies.values("ticket"))
        ages, queues = (arguments[:2], arguments[2:]) if way == "aged" else ([], arguments)
        of_queues = Q(queue__in=queues) if any(queues) else Q()
        return of_queues & _counted(way, ages, spans)


def _counted(way: str, ages: Sequence[int], spans: Spans) -> Q:
    """Build the condition for the tickets that a figure of the report of tickets counts (reports.tickets)."""
    until = spans[-1][1]
    if way in ("began", "responded", "response_due"):
        wanted = within("created_at", spans)
        if way == "responded":
            wanted &= Q(first_agent_responded_at__isnull=False)
        if way == "response_due":
            late = Q(first_agent_responded_at=None, closed_at=None, response_due_at__lt=timezone.now())
            wanted &= Q(first_response_met__isnull=False) | late
        return wanted
    if way in ("open", "aged"):
        wanted = Q(created_at__lt=until) & (Q(closed_at=None) | Q(closed_at__gte=until))
        if ages:
            youngest, oldest = ages
            wanted &= Q(created_at__lte=until - timedelta(days=youngest))
            wanted &= Q(created_at__gt=until - timedelta(days=oldest)) if oldest else Q()
        return wanted
    if way == "reopened":
        return within("targets_began_at", spans)
    # No ticket is changed before it is closed: the index of the list finds them.
    wanted = within("closed_at", spans) & Q(updated_at__gte=spans[0][0])
    if way in ("resolved", "resolution_due"):
        wanted &= Q(merged_into=None)
    return wanted & Q(resolution_met__isnull=False) if way == "resolution_due" else wanted
