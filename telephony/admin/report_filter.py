"""The filters of calls, call-backs and missed callers for links from figures of the report and of the overview."""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.admin import PeriodFilter
from callcentre.admin.periods import near, touching, within
from callcentre.core.counted import Spans
from callcentre.core.parsing import INT32
from telephony.models import CallBack, Connection, Consultation, Talk

_GAVE_UP = Q(answered_at=None, state=Connection.State.ENDED, hung_up_by=Connection.Party.CUSTOMER)


class Counted(PeriodFilter):
    """Calls that a figure counts.

    Of inbound calls (`came…`) the arguments are the target in seconds and the queues. Of outbound calls with a talk
    longer than a threshold, or not, they are the threshold, the agent and the queues, as far as the report names them.
    A transferred call is listed once for each of its talks that the figure counts.
    """

    ways = {
        "above": _("longer outbound calls"),
        "below": _("shorter outbound calls"),
        "above_talked": _("longer outbound calls, talked"),
        "below_talked": _("shorter outbound calls, talked"),
        "consulted": _("consultations"),
        "consulted_talked": _("consultations, talked"),
        "came": _("inbound calls"),
        "came_answered": _("answered inbound calls"),
        "came_in_time": _("inbound calls answered in time"),
        "came_abandoned": _("abandoned inbound calls"),
        "came_decided": _("inbound calls, answered or abandoned"),
    }

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        if way.startswith("came"):
            return _inbound(way, arguments[0], arguments[1:]) & within("created_at", spans)
        if way.startswith("consulted"):
            return _consulted(way, arguments[0], spans)
        threshold, agents, queues = arguments[0], arguments[1:2], arguments[2:]
        narrowed = Q(agent__in=agents) if agents else Q()
        narrowed &= Q(queue__in=queues) if queues else Q()
        own = Q(direction=Connection.Direction.OUTBOUND, has_talks=False) & narrowed
        own &= _counted(way, threshold, spans, "created_at", "answered_at")
        talks = Talk.objects.filter(narrowed & _counted(way, threshold, spans, "counted_at", "started_at"))
        if not (found := dict(talks.values_list("pk", "connection_id"))):
            return own
        # By keys, so that an index finds all calls; the join with talks then lists each call as often as it is counted.
        calls = own | Q(pk__in=set(found.values()))
        return calls & (Q(has_talks=False) | Q(talks__in=list(found)))


class CountedCallBacks(PeriodFilter):
    """Call-backs of queues, the arguments, that a figure counts."""

    ways = {"asked": _("call-backs"), "asked_answered": _("call-backs answered")}

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        wanted = Q(queue__in=arguments) & within("created_at", spans)
        return wanted & Q(disposition=CallBack.Disposition.ANSWERED) if way == "asked_answered" else wanted


class CountedMissed(PeriodFilter):
    """Missed callers of queues, the arguments, that a figure counts."""

    ways = {"missed": _("missed callers"), "missed_unanswered": _("missed without an answer")}

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        wanted = Q(queue__in=arguments) & within("missed_at", spans)
        return wanted & Q(answered_by=None) if way == "missed_unanswered" else wanted


def _inbound(way: str, target: int, queues: Sequence[int]) -> Q:
    """Build the condition for inbound calls as telephony.inbound_day counts them."""
    wanted = Q(direction=Connection.Direction.INBOUND)
    if queues:
        wanted &= Q(queue__in=queues)
    match way:
        case "came_answered":
            wanted &= Q(answered_at__isnull=False)
        case "came_in_time":
            wanted &= Q(answered_at__isnull=False, wait_seconds__lte=min(target, INT32))
        case "came_abandoned":
            wanted &= _GAVE_UP
        case "came_decided":
            wanted &= Q(answered_at__isnull=False) | _GAVE_UP
    return wanted


def _consulted(way: str, agent: int, spans: Spans) -> Q:
    """Build the condition for the calls of consultations of this agent, each listed as often as it is counted."""
    picked_up = Consultation.objects.filter(agent=agent, up_at__isnull=False).annotate(
        until=Coalesce("joined_at", "ended_at")
    )
    wanted = (
        within("up_at", spans) if way == "consulted" else touching("up_at", "until", spans) & near("asked_at", spans)
    )
    return Q(consultations__in=list(picked_up.filter(wanted).values_list("pk", flat=True)))


def _counted(way: str, threshold: int, spans: Spans, counted_at: str, started_at: str) -> Q:
    """Build the condition for rows that are counted at one instant and talked from another until `ended_at`."""
    # No call is longer than the limit of the threshold.
    length, now = timedelta(seconds=min(threshold, INT32)), timezone.now()
    until = F(started_at) + length
    if way.startswith("above"):
        wanted = Q(ended_at__gt=until) | Q(**{"ended_at": None, f"{started_at}__lt": now - length})
    else:
        goes_on = Q(**{"ended_at": None, f"{started_at}__gte": now - length})
        wanted = Q(**{started_at: None}) | Q(ended_at__lte=until) | goes_on
    if way.endswith("talked"):
        return wanted & touching(started_at, "ended_at", spans) & near(counted_at, spans)
    return wanted & within(counted_at, spans)
