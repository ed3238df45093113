"""Why a call ended, in words: on its row, in its event, in the admin."""

from datetime import timedelta

import pytest
from django.utils import timezone, translation

from telephony import causes
from telephony.calls import distribution, placement, reconciliation, switch_events
from telephony.models import Agent, Connection, Leg
from telephony.switch.base import Channel, Ended, SwitchError, SwitchUnreachable, Up
from telephony.verbs import connections
from tests.backoffice import page_of, superuser
from tests.conftest import ACTOR
from tests.telephony.callers import call_in, end_refused_legs, free_agent, member, offers, repair, state
from tests.telephony.factories import ConnectionFactory, LegFactory
from webhooks.event_types import EXAMPLES, EventType
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked():
    free_agent()
    return connections.call(ACTOR, sip="101", phone_number="22 555 01 07")


def reason(connection: Connection) -> tuple[str, int | None, str]:
    connection.refresh_from_db()
    return connection.disposition, connection.cause, connection.cause_text


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (17, "User busy"),
        (1, "Unallocated (unassigned) number"),
        (0, "No cause was given"),
        (38, "Network out of order"),
        (99, ""),
    ],
)
def test_a_cause_has_its_name(cause, text, asked, switch):
    placement.place(asked.pk)
    switch_events.handle(Up(f"callcentre-{asked.pk}-1", timezone.now()))
    switch_events.handle(Ended(f"callcentre-{asked.pk}-2", timezone.now(), cause))

    assert reason(asked)[1:] == (cause, text)
    assert Leg.objects.get(number="+48225550107").cause_text == text


def test_reason_of_a_refused_agents_phone(asked, switch):
    switch.refusals["call_agent"] = SwitchError("Asterisk answered 500: Allocation failed.")

    placement.place(asked.pk)
    end_refused_legs()

    assert reason(asked) == ("FAILED", None, "Asterisk answered 500: Allocation failed.")
    assert (asked.hung_up_by, state(Agent.objects.get())) == ("agent", "free")
    assert Leg.objects.get().cause_text == "Asterisk answered 500: Allocation failed."
    payload = Event.objects.get(action="CONNECTION_ENDED").payload
    assert (payload["cause"], payload["cause_text"]) == (None, "Asterisk answered 500: Allocation failed.")
    assert payload.keys() == EXAMPLES[EventType.CONNECTION_ENDED].keys()


def test_reason_of_a_refused_number(asked, switch):
    switch.refusals["call_number"] = SwitchError("x" * 300, cause=3)

    placement.place(asked.pk)
    switch_events.handle(Up(f"callcentre-{asked.pk}-1", timezone.now()))
    end_refused_legs()

    assert reason(asked) == ("FAILED", 3, "x" * causes.LONGEST)
    assert ("hang_up", f"callcentre-{asked.pk}-1", 3) in switch.told


def test_reason_of_a_refused_phone_of_an_offer(queue, switch):
    member(queue, "anna", "101")
    switch.refusals["call_agent"] = SwitchError("Asterisk answered 500: Allocation failed.")
    call = call_in()

    distribution.distribute(timezone.now())
    end_refused_legs()

    assert offers(call) == [("anna", "failed")]
    assert call.legs.get(role="agent").cause_text == "Asterisk answered 500: Allocation failed."


def test_reason_of_a_call_not_placed_without_a_connection_to_the_pbx(asked):
    Connection.objects.update(place_until=timezone.now() - timedelta(seconds=1))

    placement.place(asked.pk)

    assert reason(asked) == ("FAILED", placement.OUT_OF_ORDER, causes.NO_CONNECTION)


def test_a_call_that_the_pbx_neither_answered_nor_knows_says_so(asked, switch):
    switch.refusals["call_agent"] = SwitchUnreachable("time-out")
    placement.place(asked.pk)
    Leg.objects.update(asked_at=timezone.now() - timedelta(minutes=1))

    repair()

    assert reason(asked) == ("FAILED", None, causes.NO_CONNECTION)


def test_a_call_that_the_pbx_lists_after_a_timeout_continues(asked, switch):
    switch.refusals["call_agent"] = SwitchUnreachable("time-out")
    placement.place(asked.pk)
    switch.listed = [Channel(f"callcentre-{asked.pk}-1", is_up=True)]
    repair(looks=1)
    switch_events.handle(Ended(f"callcentre-{asked.pk}-1", timezone.now(), 16))

    assert reason(asked) == ("FAILED", 16, "Normal clearing")


def test_reason_of_a_call_with_an_unseen_end(switch):
    call = ConnectionFactory(talking=True)
    for number in (1, 2):
        LegFactory(connection=call, channel_id=f"callcentre-{call.pk}-{number}", state="up")

    reconciliation.end_lost_legs(call.pk, [leg.channel_id for leg in call.legs.all()], timezone.now())

    assert reason(call) == ("ANSWERED", None, causes.UNSEEN)
    assert set(call.legs.values_list("cause_text", flat=True)) == {causes.UNSEEN}


@pytest.mark.usefixtures("plain_static")
def test_the_admin_says_why_in_the_readers_language():
    call = ConnectionFactory(cause=38, cause_text=causes.NO_CONNECTION, disposition="FAILED")
    LegFactory(connection=call, channel_id="x", cause=17, cause_text="User busy")
    client = superuser()

    page = client.page(page_of(call))
    assert "No connection to the PBX" in page
    assert "User busy" in page
    assert "No connection to the PBX" in client.page("/admin/telephony/connection/")
    with translation.override("pl"):
        assert causes.shown(causes.NO_CONNECTION) != causes.NO_CONNECTION
        assert causes.shown("Asterisk answered 500.") == "Asterisk answered 500."
