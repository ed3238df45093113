"""Previews: a record is offered to a free agent, who calls it or skips it.

An offer is a row, and holds its record until a little after its end. So nothing is lost if the dialler dies: any
process ends offers that are over, and a record whose offer was not ended is chosen again. Locks: the campaign, shared;
the limits of lines; the agent; the offer; the record.
"""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import store
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.pubsub import publish
from callcentre.core.sweeps import going_on
from campaigns import events
from campaigns.dialling import dials
from campaigns.dialling.answered_calls import is_wanted
from campaigns.dialling.obstacles import is_switched_on, standing_obstacle
from campaigns.models import Attempt, Campaign, DiallingSwitch, Record, RecordOffer
from campaigns.verbs.records import lock_held
from telephony.calls import placement
from telephony.calls.campaign_calls import is_possible
from telephony.leader_election import is_connected
from telephony.models import Agent, Connection
from telephony.models.agent_intervals import StateKind
from telephony.verbs import ledger
from telephony.verbs.ledger import State

# The time to look at a record, for a campaign without a time-out of its own.
TIMEOUT_SECONDS = 60
# The hold of a record outlasts its offer by this time, so that the offer can be ended.
GRACE = timedelta(seconds=30)
# For this time, a skipped record is not offered to the same agent again.
REST = timedelta(hours=1)
# Offers that one sweep ends.
ENDED_AT_ONCE = 100
End = RecordOffer.End


def offer_record(campaign: Campaign, record_id: int, holder: str, agent: Agent) -> bool:
    """Offer a reserved record to a free agent for whom no person waits. Return False if that is impossible now."""
    now = timezone.now()
    expires_at = now + timedelta(seconds=campaign.preview_timeout or TIMEOUT_SECONDS)
    try:
        with transaction.atomic():
            if not is_switched_on(campaign):
                return False
            locked = ledger.lock(agent.pk)
            is_free = locked.is_logged_in and locked.state is not None and locked.state.kind == StateKind.FREE
            if not is_free or ledger.call_on_phone(agent.pk) or is_wanted(agent.pk):
                return False
            if (record := lock_held(record_id, holder, now)) is None:
                return False
            offer = RecordOffer.objects.create(
                campaign=campaign, record_id=record_id, agent=agent, offered_at=now, expires_at=expires_at
            )
            store(record, leased_by=_holder(offer), leased_until=expires_at + GRACE)
            ledger.change_state(locked, locked.instant(now), State(StateKind.PREVIEW))
            events.record_offered(record_id, campaign.code, agent.login, expires_at)
    except IntegrityError:  # an offer of the record that no agent has ended yet
        return False
    return True


def skipped_by(agent_ids: Collection[int], now: datetime) -> dict[int, set[int]]:
    """Return agent -> the records that the agent has skipped a short time ago."""
    skipped: dict[int, set[int]] = defaultdict(set)
    offers = RecordOffer.objects.filter(agent_id__in=agent_ids, ended_at__gt=now - REST, end=End.SKIPPED)
    for agent_id, record_id in offers.order_by().values_list("agent_id", "record_id"):
        skipped[agent_id].add(record_id)
    return skipped


def current_offer(agent: Agent) -> RecordOffer | None:
    offers = RecordOffer.objects.select_related("campaign")
    return offers.filter(agent=agent, ended_at=None, expires_at__gt=timezone.now()).first()


def accept(agent: Agent, actor: Actor) -> Connection:
    """Call the offered record. Raises Conflict: without an offer, or if it cannot be called now."""
    with transaction.atomic():
        if not is_connected():
            raise Conflict(ErrorCode.NO_CONNECTION_TO_PBX)
        _lock_campaign(agent.pk)
        if not placement.is_line_free():
            raise Conflict(ErrorCode.NO_LINE)
        offer = _lock_offer(agent.pk)
        if offer.expires_at <= timezone.now():
            raise Conflict(ErrorCode.NO_OFFER)
        connection = _call(offer)
    if connection is None:
        raise Conflict(ErrorCode.NOT_CALLABLE)
    return connection


def skip(agent: Agent, actor: Actor, faults: Collection[Fault] = (), *, reason: str = "") -> None:
    """Return the offered record, which this agent does not get again for a while. Raises Invalid and Conflict."""
    if faults:
        raise Invalid(faults)
    with transaction.atomic():
        _end(_lock_offer(agent.pk), End.SKIPPED, reason)


def agent_left(agent_id: int) -> None:
    """End the offer of an agent who has left the state PREVIEW by another way: it is skipped. The agent is locked."""
    offer = _open_offers().filter(agent_id=agent_id).first()
    if offer:
        _close(offer, End.SKIPPED)
        _release(offer)


def sweep(now: datetime) -> int:
    """End the offers that are over, and those of campaigns that are not dialled any more. Return their number."""
    over = RecordOffer.objects.filter(ended_at=None).order_by("expires_at")
    if is_running():
        dialled = Campaign.objects.diallable_on(timezone.localdate(now)).filter(is_dialling=True)
        over = over.filter(Q(expires_at__lte=now) | ~Q(campaign__in=dialled))
    ended = 0
    for offer in over[:ENDED_AT_ONCE]:
        with going_on("an offer could not be ended", offer=offer.pk):
            ended += _end_over(offer.agent_id, offer.pk, now)
    return ended


def is_running() -> bool:
    """Return whether the switch of all dialling is on."""
    return DiallingSwitch.objects.of_all().values_list("is_running", flat=True).first() is not False


@transaction.atomic
def _end_over(agent_id: int, offer_id: int, now: datetime) -> bool:
    """Return the record of an offer that is over, or call it, as the campaign says."""
    _lock_campaign(agent_id)
    can_call = is_possible()
    ledger.lock(agent_id)
    offer = _open_offers().filter(pk=offer_id).first()
    if offer is None:
        return False
    if standing_obstacle(offer.campaign, timezone.localdate(), is_running=is_running()):
        _end(offer, End.WITHDRAWN)
    elif offer.campaign.preview_end == Campaign.PreviewEnd.DIAL and can_call:
        _call(offer)
    else:
        _end(offer, End.EXPIRED)
    return True


def _holder(offer: RecordOffer) -> str:
    return f"offer:{offer.pk}"


def _open_offers() -> "QuerySet[RecordOffer, RecordOffer]":
    offers = RecordOffer.objects.select_for_update(of=("self",), no_key=True).select_related("campaign", "agent")
    return offers.filter(ended_at=None).order_by()


def _lock_campaign(agent_id: int) -> None:
    """Lock the campaign of the agent's offer as a dial does, before all else."""
    offer = RecordOffer.objects.select_related("campaign").filter(agent_id=agent_id, ended_at=None).first()
    if offer:
        is_switched_on(offer.campaign)


def _lock_offer(agent_id: int) -> RecordOffer:
    """Lock the agent and the open offer. Raises Conflict without one."""
    ledger.lock(agent_id)
    offer = _open_offers().filter(agent_id=agent_id).first()
    if offer is None:
        raise Conflict(ErrorCode.NO_OFFER)
    return offer


def _call(offer: RecordOffer) -> Connection | None:
    """Call the record; return None and withdraw the offer if it cannot be called now. Agent and offer are locked."""
    # The dial looks at the switch of all dialling.
    if standing_obstacle(offer.campaign, timezone.localdate(), is_running=True):
        _end(offer, End.WITHDRAWN)
        return None
    # The agent leaves the state PREVIEW for the call, so that the offer ends before.
    _close(offer, End.ACCEPTED)
    connection = dials.dial(offer.campaign, offer.record_id, _holder(offer), Attempt.Mode.PREVIEW, offer.agent)
    if connection is None:
        _end(offer, End.WITHDRAWN)
    return connection


def _end(offer: RecordOffer, end: RecordOffer.End, reason: str = "") -> None:
    """End the offer, release its record, and set its agent free."""
    _close(offer, end, reason)
    _release(offer)
    locked = ledger.lock(offer.agent_id)
    if locked.state and locked.state.kind == StateKind.PREVIEW:
        ledger.change_state(locked, locked.instant(None), State(StateKind.FREE))
    publish("dialling")


def _close(offer: RecordOffer, end: RecordOffer.End, reason: str = "") -> None:
    store(offer, ended_at=timezone.now(), end=end, reason=reason)


def _release(offer: RecordOffer) -> None:
    held = Record.objects.filter(pk=offer.record_id, leased_by=_holder(offer))
    held.update(leased_by="", leased_until=None)
