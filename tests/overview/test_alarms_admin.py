"""The pages of alarms: faults at their fields, states in the list, deletion, mails."""

from typing import Any

import pytest
from django.urls import reverse

from callcentre.overview.models import Alarm
from tests.backoffice import errors_of, page_of, superuser
from tests.campaigns.factories import CampaignFactory
from tests.overview.factories import AlarmFactory, AlarmMailFactory
from tests.statements import few_statements
from tests.telephony.factories import QueueFactory
from webhooks.event_types import EventType
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

LIST, ADD = reverse("admin:overview_alarm_changelist"), reverse("admin:overview_alarm_add")
VALUES = {"name": "Hotline waits", "is_active": "on", "subject": "QUEUE_WAIT", "limit": "60", "language": "pl"}


def test_a_supervisor_sets_an_alarm():
    queue = QueueFactory()

    superuser().submit(ADD, **VALUES, queue=queue.pk, sounds="on", recipients="a@us.example, b@us.example")

    alarm = Alarm.objects.get()
    assert (alarm.queue, alarm.campaign, alarm.limit) == (queue, None, 60.0)
    assert alarm.recipients == ["a@us.example", "b@us.example"]
    assert (alarm.sounds, alarm.language, alarm.raised_at) == (True, "pl", None)


def test_each_subject_is_set_with_the_place_that_it_watches():
    places: dict[str, Any] = {"queue": QueueFactory, "campaign": CampaignFactory}
    for subject in Alarm.Subject:
        place = {subject.place: places[subject.place]().pk} if subject.place else {}
        superuser().submit(ADD, **{**VALUES, "name": subject.value, "subject": subject.value}, **place)

    assert set(Alarm.objects.values_list("subject", flat=True)) == {*Alarm.Subject.values}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"queue": ""}, "queue"),
        ({"subject": "CAMPAIGN_DROP_RATE"}, "campaign"),
        ({"subject": ""}, "subject"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "nan"}, "limit"),
        ({"limit": "1e9"}, "limit"),
        ({"name": ""}, "name"),
        ({"recipients": "boss@us.example nobody"}, "recipients"),
        ({"recipients": " ".join(f"a{number}@us.example" for number in range(51))}, "recipients"),
    ],
)
def test_a_fault_is_shown_at_its_field(changes, field):
    response = superuser().submit(ADD, expected=200, **{**VALUES, "queue": QueueFactory().pk, **changes})

    assert field in errors_of(response)
    assert not Alarm.objects.exists()


def test_an_alarm_has_one_place_and_webhooks_can_subscribe_to_alarms():
    client, both = superuser(), {"queue": QueueFactory().pk, "campaign": CampaignFactory().pk}

    assert list(errors_of(client.submit(ADD, expected=200, **VALUES, **both))) == ["campaign"]
    page = client.page(reverse("admin:webhooks_webhook_add"))
    assert ("ALARM_RAISED" in page, "ALARM_CLEARED" in page) == (True, True)


def test_the_list_shows_which_alarms_are_raised():
    AlarmFactory(name="Quiet", queue__name="Hotline", limit=2)
    AlarmFactory(raised=True)
    AlarmFactory(is_active=False)
    AlarmFactory(subject="CAMPAIGN_DROP_RATE", limit=2.5, queue=None, campaign=CampaignFactory(code="SPRNG"))
    client = superuser()

    with few_statements(5):
        page = client.page(LIST)

    for text in ("Hotline: more than 2 callers wait", "raised since", "not raised", "SPRNG", "above 2.5 %"):
        assert text in page


def test_the_page_shows_the_last_mails():
    sent = AlarmMailFactory(recipient="boss@us.example", state="failed", error="no such user")

    page = superuser().page(page_of(sent.alarm))

    assert "boss@us.example" in page
    assert "no such user" in page


def test_the_deletion_of_a_raised_alarm_says_that_it_is_over():
    client = superuser()
    raised, quiet = AlarmFactory(raised=True), AlarmFactory()

    for alarm in (raised, quiet):
        client.submit(page_of(alarm, "delete"), post="yes")

    assert not Alarm.objects.exists()
    cleared = Event.objects.filter(action=EventType.ALARM_CLEARED)
    assert [event.payload["alarm_id"] for event in cleared] == [raised.pk]
