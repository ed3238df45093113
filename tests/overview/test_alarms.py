"""Alarms: their conditions, states, events and mails, also with several workers at once."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core import mail
from django.utils import timezone

from callcentre.models import User
from callcentre.overview.models import Alarm, AlarmMail
from callcentre.overview.tasks import prune_mails, watch_alarms
from callcentre.overview.verbs.alarms import delete_alarm
from callcentre.overview.watch import outbox, watch
from campaigns.models import DiallingDay
from telephony.models import OpeningHours, Queue
from telephony.verbs import presence
from tests.callcentre.factories import UserFactory
from tests.campaigns.factories import CampaignFactory, DiallingDayFactory, TrunkFailureFactory
from tests.conftest import ACTOR
from tests.overview.factories import AlarmFactory, AlarmMailFactory
from tests.serving import at_once
from tests.statements import few_statements
from tests.telephony.factories import ConnectionFactory, QueueFactory, QueueMemberFactory
from webhooks.models import Event

pytestmark = pytest.mark.django_db
Subject = Alarm.Subject


def wait_in(queue: Queue | None, seconds: int = 10) -> Any:
    since = timezone.now() - timedelta(seconds=seconds)
    return ConnectionFactory(waiting=True, queue=queue, created_at=since, waiting_since=since)


def is_raised(alarm: Alarm) -> bool:
    watch()
    alarm.refresh_from_db()
    return alarm.raised_at is not None


def events() -> list[tuple[str, dict[str, Any]]]:
    found = Event.objects.filter(action__startswith="ALARM_").order_by("id")
    return list(found.values_list("action", "payload"))


def test_a_queue_in_which_a_caller_waits_too_long_or_too_many_wait():
    slow = AlarmFactory(subject=Subject.QUEUE_WAIT, limit=60)
    many = AlarmFactory(limit=1, queue=slow.queue)
    wait_in(QueueFactory(), 900)
    assert not is_raised(slow)

    call = wait_in(slow.queue, 61)
    assert (is_raised(slow), is_raised(many)) == (True, False)
    wait_in(slow.queue)
    assert (is_raised(many), many.value) == (True, 2)

    call.delete()
    assert not is_raised(slow)


def test_a_trunk_that_fails_raises_an_alarm_that_no_person_has_set():
    watch_alarms()
    assert not Alarm.objects.exists()

    failure = TrunkFailureFactory()
    watch_alarms()
    alarm = Alarm.objects.get()
    assert (alarm.subject, alarm.raised_at is not None, alarm.sentence) == (
        "TRUNK_FAILED",
        True,
        "trunk: no call has got through for longer than 0 s",
    )
    assert [action for action, _ in events()] == ["ALARM_RAISED"]

    failure.ended_at = timezone.now()
    failure.save()
    assert not is_raised(alarm)


def test_a_queue_with_too_few_free_agents_unless_it_is_closed(time_machine):
    time_machine.move_to("2026-11-23 08:00:00+00:00", tick=False)  # a Monday, 9:00 here
    alarm = AlarmFactory(subject=Subject.QUEUE_FREE_AGENTS, limit=1)
    OpeningHours.objects.create(queue=alarm.queue, weekday=1, opens_at="08:00", closes_at="10:00")
    assert is_raised(alarm)

    time_machine.move_to("2026-11-23 09:00:00+00:00", tick=False)

    assert not is_raised(alarm)
    assert events()[-1] == ("ALARM_CLEARED", {**payload_of(alarm), "value": None})

    time_machine.move_to("2026-11-23 08:00:00+00:00", tick=False)
    assert is_raised(alarm)
    presence.log_in(QueueMemberFactory(queue=alarm.queue).agent, ACTOR)
    assert not is_raised(alarm)


def test_a_campaign_with_too_many_drops_today():
    campaign = CampaignFactory()
    alarm = AlarmFactory(subject=Subject.CAMPAIGN_DROP_RATE, limit=2.5, campaign=campaign, queue=None)
    yesterday = timezone.localdate() - timedelta(days=1)
    DiallingDayFactory(campaign=campaign, day=yesterday, attempts=99, live_answers=40, drops=20)
    assert not is_raised(alarm)

    DiallingDayFactory(campaign=campaign, day=timezone.localdate(), attempts=99, live_answers=40, drops=1)
    assert not is_raised(alarm)

    DiallingDay.objects.filter(day=timezone.localdate()).update(drops=2)
    assert is_raised(alarm)
    assert alarm.value == 5.0


def payload_of(alarm: Alarm) -> dict[str, Any]:
    return {"alarm_id": alarm.pk, "name": alarm.name, "subject": alarm.subject, "limit": alarm.limit}


def test_each_change_is_one_event():
    alarm = AlarmFactory(limit=0)
    call = wait_in(alarm.queue)
    for _ in range(3):
        watch_alarms()
    call.delete()
    for _ in range(3):
        watch_alarms()

    assert events() == [
        ("ALARM_RAISED", {**payload_of(alarm), "value": 1.0}),
        ("ALARM_CLEARED", {**payload_of(alarm), "value": 0.0}),
    ]


def test_an_inactive_alarm_is_not_raised_and_a_raised_one_is_cleared():
    alarm = AlarmFactory(limit=0, is_active=False)
    wait_in(alarm.queue)
    assert not is_raised(alarm)

    Alarm.objects.update(is_active=True)
    assert is_raised(alarm)
    Alarm.objects.update(is_active=False)

    assert not is_raised(alarm)
    assert [action for action, _ in events()] == ["ALARM_RAISED", "ALARM_CLEARED"]


def test_a_deleted_alarm_is_cleared_first():
    alarm = AlarmFactory(raised=True)
    AlarmMailFactory(alarm=alarm)
    quiet = AlarmFactory()

    delete_alarm(alarm)
    delete_alarm(alarm)
    delete_alarm(quiet)

    assert [(action, payload["alarm_id"]) for action, payload in events()] == [("ALARM_CLEARED", alarm.pk)]
    assert not Alarm.objects.exists()


def test_the_watch_takes_the_same_queries_for_all_alarms():
    for _ in range(30):
        AlarmFactory(subject=Subject.QUEUE_WAIT, limit=5, recipients=["a@callcentre.example"])
        AlarmFactory(subject=Subject.QUEUE_FREE_AGENTS, limit=1)
        AlarmFactory(subject=Subject.CAMPAIGN_DROP_RATE, campaign=CampaignFactory(), queue=None)
    for alarm in Alarm.objects.filter(subject=Subject.QUEUE_WAIT):
        wait_in(alarm.queue)

    # Savepoint (2), alarms, situations, days, queues and their hours, states, events, mails.
    with few_statements(10):
        assert watch() == 2 * 30
    with few_statements(7):
        assert watch() == 0


@pytest.mark.django_db(transaction=True)
def test_workers_at_once_raise_an_alarm_once():
    for _ in range(5):
        wait_in(AlarmFactory(limit=0, recipients=["a@callcentre.example"]).queue)

    def work():
        for _ in range(5):
            watch()

    at_once([work] * 4)

    assert Alarm.objects.exclude(raised_at=None).count() == 5
    assert Event.objects.filter(action="ALARM_RAISED").count() == 5
    assert AlarmMail.objects.count() == 5


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_dies_leaves_no_part_of_a_change(monkeypatch):
    alarm = AlarmFactory(limit=0, recipients=["a@callcentre.example"])
    wait_in(alarm.queue)

    def die(*_unused):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("callcentre.overview.verbs.alarms._write_mails", die)
        with pytest.raises(KeyboardInterrupt):
            watch()
    alarm.refresh_from_db()
    assert alarm.raised_at is None
    assert not events()

    assert is_raised(alarm)
    assert (len(events()), AlarmMail.objects.count()) == (1, 1)


def test_recipients_get_a_mail_in_the_language_of_the_alarm_when_it_is_raised_and_when_it_is_over():
    recipients = ["a@callcentre.example", "b@callcentre.example"]
    alarm = AlarmFactory(name="Hotline waits", limit=0, queue__name="Hotline", recipients=recipients)
    call = wait_in(alarm.queue)
    watch()
    call.delete()
    watch()

    for pk in AlarmMail.objects.order_by("id").values_list("pk", flat=True):
        outbox.send(pk)

    assert [(sent.to, sent.subject) for sent in mail.outbox] == [
        (["a@callcentre.example"], "Alarm: Hotline waits"),
        (["b@callcentre.example"], "Alarm: Hotline waits"),
        (["a@callcentre.example"], "Alarm is over: Hotline waits"),
        (["b@callcentre.example"], "Alarm is over: Hotline waits"),
    ]
    assert mail.outbox[0].body.startswith("Hotline: more than 0 callers wait\nValue: 1\n")
    outbox.send(AlarmMailFactory(alarm__language="pl", alarm__name="Infolinia").pk)
    assert "więcej dzwoniących" in mail.outbox[-1].body


@pytest.mark.usefixtures("plain_static")
def test_no_mail_is_sent_when_the_person_who_saved_the_alarm_may_not_see_it_any_more(client):
    person = UserFactory(staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=["view_alarm", "change_alarm"]))
    alarm = AlarmFactory(limit=0, recipients=["a@callcentre.example"], user=person)
    outside = AlarmFactory(limit=0, recipients=["a@callcentre.example"], user=person)
    User.objects.update(scope_call_queues=[alarm.queue_id], is_active=False)
    for each in (alarm, outside):
        wait_in(each.queue)
    watch()
    assert list(AlarmMail.objects.values_list("alarm", flat=True)) == [alarm.pk]

    person.user_permissions.clear()
    ConnectionFactory._meta.model.objects.all().delete()
    watch()
    assert AlarmMail.objects.count() == 1
    client.force_login(UserFactory(is_superuser=True, staff=True))
    assert "may not see it any more" in client.get(f"/admin/overview/alarm/{alarm.pk}/change/").content.decode()


def test_old_mails_are_deleted_unless_they_are_to_be_sent():
    long_ago = timezone.now() - timedelta(days=31)
    AlarmMailFactory(state="sent", at=long_ago)
    kept = [AlarmMailFactory(at=long_ago).pk, AlarmMailFactory(state="sent").pk]

    prune_mails()

    assert list(AlarmMail.objects.order_by("pk").values_list("pk", flat=True)) == kept
