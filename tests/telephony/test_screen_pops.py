"""Screen pops: checked, escaped, recorded as events, and opened by the desk."""

import pytest

from telephony.models import Queue
from telephony.verbs import screen_pops
from tests.telephony.callers import call_in, talk_in
from tests.telephony.factories import ScreenPopFactory
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://crm.example/{number}",
        "javascript:alert({number})",
        "https://{number}.example/",
        "https:///find",
        "https://crm.example/{caller}",
        "https://crm.example/{number!r}",
        "https://crm.example/{number.__class__}",
        "https://crm.example/{",
        "https://crm.example/a b",
        "https://crm.example/\n",
    ],
)
def test_other_addresses_are_refused(url):
    assert screen_pops.problem(url)


def test_an_address_with_facts_is_fine():
    assert not screen_pops.problem("https://crm.example/find?number={number}&call={connection_id}#{agent}")


def test_facts_are_escaped_and_cannot_change_the_address(queue, switch):
    pop = ScreenPopFactory(queue=queue, url="https://crm.example/{queue}?n={number}&r={record_id}")
    Queue.objects.filter(pk=queue.pk).update(name="Hot/line & more")
    call = call_in(caller="+48225550107")
    call.refresh_from_db()
    address = screen_pops.address(pop, call, "anna")

    assert address == "https://crm.example/Hot%2Fline%20%26%20more?n=%2B48225550107&r="


def test_ring_and_answer_of_a_queues_call_are_events(queue, anna, switch):
    for moment in ("ring", "answer", "result"):
        ScreenPopFactory(queue=queue, name=moment, moment=moment, way="event", url="https://crm.example/{agent}")
    ScreenPopFactory(queue=queue, way="desk")
    ScreenPopFactory(queue=queue, way="event", is_active=False)
    ScreenPopFactory(way="event")
    talk_in()

    found = Event.objects.filter(action="SCREEN_POP").order_by("id").values_list("payload", flat=True)
    assert [(one["name"], one["moment"], one["url"], one["agent_login"]) for one in found] == [
        ("ring", "ring", "https://crm.example/anna", "anna"),
        ("answer", "answer", "https://crm.example/anna", "anna"),
    ]
