"""Comparison of rows and channels: lost events and lost requests."""

from datetime import timedelta

import pytest
from django.utils import timezone

from telephony.calls import distribution, inbound, placement, reconciliation, switch_events
from telephony.channels import connection_of
from telephony.models import Agent, Connection, Leg, Recording
from telephony.switch.base import Channel, Missed, Ringing, SwitchError, Up
from telephony.verbs import connections, presence
from tests.conftest import ACTOR
from tests.telephony.callers import CALLER, HOTLINE, actions, end_refused_legs, free_agent, fresh
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentFactory, ConnectionFactory, LegFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dialling(switch):
    """The agent is up, the customer's phone was asked for a minute ago."""
    free_agent()
    connection = connections.call(ACTOR, sip="101", phone_number="+48225550107")
    placement.place(connection.pk)
    switch_events.handle(Up(f"callcentre-{connection.pk}-1", timezone.now()))
    Leg.objects.update(asked_at=timezone.now() - timedelta(minutes=1))
    switch.told.clear()
    return connection


def look(switch: RecordingSwitch, times: int = 2) -> None:
    comparison = reconciliation.Comparison()
    for _ in range(times):
        differences = comparison.compare(switch)
        for caller in differences.callers:
            if isinstance(caller, Missed):
                inbound.missed(caller)
            else:
                inbound.arrived(caller)
        for repair in differences.repairs:
            repair.act()


def channels(connection: Connection, *numbers: int, up: bool = True) -> list[Channel]:
    return [Channel(f"callcentre-{connection.pk}-{number}", up) for number in numbers]


@pytest.mark.parametrize(
    ("up", "ringing", "looks", "is_young", "state"),
    [
        ([1], [2], 2, False, "dialling"),  # no difference
        ([1, 2], [], 1, False, "talking"),  # picked up during an interruption
        ([1], [], 1, False, "dialling"),  # a leg that is missing once may be on its way
        ([1], [], 2, True, "dialling"),  # and so may one that was just asked for
    ],
)
def test_a_call_goes_on_as_its_channels_do(dialling, switch, *, up, ringing, looks, is_young, state):
    if is_young:
        Leg.objects.update(asked_at=timezone.now())
    switch.listed = [*channels(dialling, *up), *channels(dialling, *ringing, up=False)]
    look(switch, looks)

    assert fresh(dialling).state == state
    assert [told[0] for told in switch.told] == (["join"] if state == "talking" else [])


def test_a_leg_that_stays_missing_is_over_and_not_asked_for_again(dialling, switch):
    switch.listed = channels(dialling, 1)
    look(switch)

    over = fresh(dialling)
    lost = Leg.objects.get(channel_id=f"callcentre-{dialling.pk}-2")
    assert (over.disposition, over.hung_up_by, over.cause) == ("FAILED", "system", None)
    assert (lost.state, lost.cause) == ("ended", None)
    assert switch.told == [("hang_up", f"callcentre-{dialling.pk}-1")]


def test_a_request_to_hang_up_is_repeated(dialling, switch):
    Leg.objects.update(hangup_asked_at=timezone.now())
    switch.listed = channels(dialling, 1, 2)
    look(switch, times=1)

    assert switch.told == [("hang_up", f"callcentre-{dialling.pk}-{number}") for number in (1, 2)]


def test_the_parties_of_a_talk_are_joined_again(dialling, switch):
    switch_events.handle(Up(f"callcentre-{dialling.pk}-2", timezone.now()))
    joined = switch.told[-1]
    switch.told.clear()
    for pk in reconciliation.established():
        reconciliation.restore(pk)

    assert switch.told == [("stop_music", f"callcentre-{dialling.pk}-2"), joined]
    assert fresh(dialling).join_count == 1


@pytest.mark.parametrize(("is_repeated", "expected"), [(False, 0), (True, 1)])
def test_only_a_first_refusal_withdraws_the_recording(dialling, switch, *, is_repeated, expected):
    """A repeated join is refused because the call is over. The switch has recorded it."""
    if not is_repeated:
        switch.refusals["join"] = SwitchError("Channel not found.")
    switch_events.handle(Up(f"callcentre-{dialling.pk}-2", timezone.now()))
    switch.refusals["join"] = SwitchError("Channel not found.")
    if is_repeated:
        reconciliation.restore(dialling.pk)

    assert Recording.objects.filter(name=dialling.uid, state="expected").count() == expected


def test_waiting_and_held_callers_get_music_again(switch):
    waiting = LegFactory(connection=ConnectionFactory(waiting=True))
    held = LegFactory(connection=ConnectionFactory(talking=True, is_on_hold=True))
    for pk in reconciliation.established():
        reconciliation.restore(pk)

    assert ("play_music", waiting.channel_id, "default") in switch.told
    assert ("play_music", held.channel_id, "default") in switch.told
    assert not [command for command in switch.told if command[0] == "join"]


def test_a_call_without_a_leg_ends(dialling):
    now = timezone.now() + timedelta(minutes=1)
    Leg.objects.update(ended_at=now)
    queued = connections.call(ACTOR, sip="101", phone_number="+48225550107")

    assert reconciliation.without_legs(now) == [dialling.pk]
    reconciliation.end_without_legs(dialling.pk)
    reconciliation.end_without_legs(queued.pk)

    assert (fresh(dialling).disposition, fresh(queued).state) == ("FAILED", "queued")


def test_legs_with_overdue_events_cause_a_comparison(dialling):
    now = timezone.now()
    assert reconciliation.is_overdue(now)

    Leg.objects.update(state="up")
    assert not reconciliation.is_overdue(now)

    Leg.objects.update(hangup_asked_at=now - timedelta(seconds=30))
    assert reconciliation.is_overdue(now)


def test_a_phone_that_rings_unheard_is_seen_to_ring(dialling, switch):
    switch.listed = [*channels(dialling, 1), Channel(f"callcentre-{dialling.pk}-2", is_up=False, is_ringing=True)]
    look(switch)

    assert (fresh(dialling).state, switch.told) == ("dialling", [])
    assert Leg.objects.get(channel_id=f"callcentre-{dialling.pk}-2").state == "ringing"


def test_a_lost_phone_that_rang_was_not_answered(dialling, switch, settings):
    start = timezone.now() - timedelta(minutes=10)
    Connection.objects.update(created_at=start)
    switch_events.handle(Ringing(f"callcentre-{dialling.pk}-2", start))
    switch.listed = channels(dialling, 1)
    look(switch)

    # The ringing is at most the limit, even if its end is found late.
    assert (fresh(dialling).disposition, fresh(dialling).ring_seconds) == ("NO ANSWER", settings.RING_SECONDS)


@pytest.mark.parametrize(("rang", "outcome"), [(True, "not_answered"), (False, "failed")])
def test_a_lost_phone_of_an_agent_rang_in_vain_if_it_rang(rang, outcome, switch):
    agent: Agent = AgentFactory(number="101")
    presence.log_in(agent, ACTOR)
    call = ConnectionFactory(waiting=True, queue__members=[agent])
    caller = LegFactory(connection=call)
    distribution.distribute(timezone.now())
    leg = call.legs.get(role="agent")
    Leg.objects.filter(pk=leg.pk).update(asked_at=timezone.now() - timedelta(minutes=1))
    if rang:
        switch_events.handle(Ringing(leg.channel_id, timezone.now()))
    switch.listed = [Channel(caller.channel_id, is_up=True)]
    look(switch)

    assert [offer.outcome for offer in call.offers.all()] == [outcome]


def test_only_our_own_channels_of_calls_that_are_over_are_hung_up(switch):
    LegFactory(channel_id="callcentre-77-1", state="ended", ended_at=timezone.now())
    names = [
        "callcentre-77-1",
        "1416225570.341",
        "callcentre2-77-1",
        "callcentre-2-77-1",
        "callcentre-77",
        "othercallcentre-77-1",
    ]
    switch.listed = [Channel(name, is_up=True) for name in names]
    look(switch, times=1)

    assert switch.told == [("hang_up", "callcentre-77-1")]


def test_an_installation_of_another_name_has_channels_of_another_name(switch, settings):
    settings.ARI_APP = "support"
    AgentFactory(number="101")
    connection = connections.call(ACTOR, sip="101", phone_number="+48225550107")
    placement.place(connection.pk)

    assert [told[1] for told in switch.told] == [f"support-{connection.pk}-1"]
    assert connection_of(f"support-{connection.pk}-1") == connection.pk
    assert connection_of(f"callcentre-{connection.pk}-1") is None


# Callers and bridges without a row


def test_a_caller_without_a_leg_is_stored(queue, switch):
    switch.listed = [Channel("1416225570.341", is_up=False, caller=CALLER, dialled=HOTLINE)]
    look(switch)

    call = Connection.objects.get()
    assert (call.state, call.queue, call.src_number) == ("waiting", queue, CALLER)
    assert switch.followed == ["1416225570.341"]


def test_the_channel_of_a_caller_with_an_ended_call_is_hung_up(switch):
    leg = LegFactory(channel_id="1416225570.341", state="ended", ended_at=timezone.now())
    switch.listed = [Channel(leg.channel_id, is_up=True, caller=CALLER, dialled=HOTLINE)]
    look(switch, times=1)

    assert switch.told == [("hang_up", leg.channel_id)]
    assert Connection.objects.count() == 1


def test_a_caller_who_hangs_up_before_the_subscription_has_given_up(queue, switch):
    switch.refusals["follow"] = SwitchError("Channel not found.")
    switch.listed = [Channel("1416225570.341", is_up=False, caller=CALLER, dialled=HOTLINE)]
    look(switch, times=1)
    end_refused_legs()

    call = Connection.objects.get()
    assert (call.disposition, call.hung_up_by, call.cause) == ("NO ANSWER", "customer", 0)
    assert not call.open_legs


def test_bridges_of_calls_that_are_over_are_taken_away(switch):
    talking, over = ConnectionFactory(talking=True), ConnectionFactory()
    kept = [talking.bridge_id, "callcentre2-77", "callcentre-2-77", f"callcentre-{over.pk}-1", "another"]
    switch.listed_bridges = [*kept, over.bridge_id, "callcentre-987654321"]
    look(switch, times=1)

    assert sorted(switch.told) == sorted(
        [("destroy_bridge", over.bridge_id), ("destroy_bridge", "callcentre-987654321")]
    )


def test_a_missed_caller_leaves_row_log_and_events(queue, switch, caplog):
    began_at = timezone.now().replace(microsecond=0) - timedelta(minutes=5)
    ended_at = began_at + timedelta(seconds=20)
    switch.listed_missed = [Missed("key", "1416225570.341", began_at, ended_at, CALLER, HOTLINE)]
    look(switch)

    call = Connection.objects.get()
    assert (call.created_at, call.ended_at, call.queue, call.src_number) == (began_at, ended_at, queue, CALLER)
    assert (call.disposition, call.hung_up_by, call.wait_seconds) == ("NO ANSWER", "customer", 20)
    assert actions() == ["CONNECTION_STARTED", "CONNECTION_ENDED"]
    assert caplog.messages.count("a caller was missed") == 1
    assert switch.told == [("forget_missed", "key")] * 2


def test_a_comparison_works_with_a_switch_that_does_not_list_missed_callers(dialling, switch, monkeypatch):
    def refuse() -> list[Missed]:
        raise SwitchError("Asterisk answered 500.")

    monkeypatch.setattr(switch, "missed", refuse)
    look(switch)

    assert fresh(dialling).state == "ended"


@pytest.mark.parametrize(("rang", "disposition"), [(True, "NO ANSWER"), (False, "FAILED")])
def test_a_call_that_is_gone_as_a_whole_was_not_answered_if_the_customers_phone_rang(
    rang, disposition, dialling, switch
):
    if rang:
        switch_events.handle(Ringing(f"callcentre-{dialling.pk}-2", timezone.now()))
    look(switch)

    over = fresh(dialling)
    assert (over.disposition, over.hung_up_by, over.cause) == (disposition, "system", None)
    assert not Leg.objects.filter(ended_at=None).exists()


def test_channels_of_lines_that_are_over_and_forgotten_tones_are_hung_up(switch):
    switch.listed = [Channel("callcentre-line-7", is_up=True), Channel("callcentre-line-7-tone", is_up=True)]

    differences = reconciliation.Comparison().compare(switch)
    for difference in differences.repairs:
        difference.act()

    assert differences.callers == []
    assert switch.told == [("hang_up", "callcentre-line-7"), ("hang_up", "callcentre-line-7-tone")]
