"""Verbs that start and stop the dialling of a campaign, and of all campaigns."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns
from callcentre.core.errors import Conflict, Fault, Invalid
from callcentre.core.pubsub import publish
from campaigns.models import Campaign, DiallingSwitch
from telephony.calls import commands
from telephony.leader_election import is_connected
from telephony.models import CallCommand, Connection


def start_dialling(campaign: Campaign, actor: Actor) -> None:
    """Let the dialler call the campaign's records, while its other conditions hold."""
    _set(campaign, actor, "start", is_running=True)


def pause_dialling(campaign: Campaign, actor: Actor) -> None:
    """Place no new call. Calls that ring or talk go on."""
    _set(campaign, actor, "pause", is_running=False)


def stop_dialling(campaign: Campaign, actor: Actor) -> None:
    """Place no new call, and hang up the calls that are not answered yet."""
    _set(campaign, actor, "stop", is_running=False)
    calls = Connection.objects.open().exclude(state=Connection.State.DETECTING)
    unanswered = list(calls.filter(campaign_id=campaign.pk, answered_at=None))
    is_there = bool(unanswered) and is_connected()  # the listener itself asks the switch
    for connection in unanswered:
        with suppress(Conflict):  # the call has ended meanwhile, or the switch is away
            # The person may answer before the listener hangs up.
            commands.ask(actor, connection, CallCommand.Kind.HANG_UP, {"unless_answered": True}, is_there=is_there)


def _set(campaign: Campaign, actor: Actor, action: str, *, is_running: bool) -> None:
    with transaction.atomic():
        Campaign.objects.filter(pk=campaign.pk).update(is_dialling=is_running)
        DiallingSwitch.objects.create(campaign=campaign, is_running=is_running, action=action, **change_columns(actor))
        publish("dialling")
    campaign.is_dialling = is_running


def switch_dialling(
    actor: Actor, faults: Sequence[Fault] = (), *, is_running: bool = True, reason: str = ""
) -> DiallingSwitch:
    """Switch all dialling on or off. The row says who did it and why. Raises Invalid."""
    if faults:
        raise Invalid(faults)
    with transaction.atomic():
        action = "start" if is_running else "stop"
        changes: dict[str, Any] = {"is_running": [None, is_running]}
        if reason:
            changes["reason"] = [None, reason]
        row = DiallingSwitch.objects.create(
            is_running=is_running, reason=reason, action=action, changes=changes, **change_columns(actor)
        )
        publish("dialling")
    return row
