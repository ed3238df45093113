"""The timetable of beat: the repeated tasks, their intervals and their purposes.

A sweep that no worker took in time is dropped: the next one does the same. Beat counts intervals and hours in UTC
(CELERY_TIMEZONE), so that no clock change stops or doubles them.
"""

from datetime import datetime
from typing import Any

from celery.schedules import crontab
from django.utils import timezone


class LocalTime(crontab):
    """A time of day in local time (TIME_ZONE).

    It comes once a day, also on days of a clock change: an hour later if its own hour is skipped, and the first time if
    its hour is repeated.
    """

    def maybe_make_aware(self, dt: datetime, naive_as_utc: bool = True) -> datetime:
        return timezone.localtime(super().maybe_make_aware(dt, naive_as_utc), timezone.get_default_timezone())


# Task -> the seconds between two runs, or the time of day.
_TIMES: dict[str, float | crontab] = {
    # every 5 seconds: enqueue work that is due, and work whose message or worker was lost
    "callcentre.sweep_due_work": 5.0,
    # every second: place calls whose message was lost or that had to wait, in case the listener does not
    "telephony.sweep_calls": 1.0,
    # every 5 seconds: end wrap-ups that the listener did not end, and sessions past their limit
    "telephony.sweep_agents": 5.0,
    # every 10 seconds: look for recordings that the switch has not reported, and ask for their transcriptions
    "telephony.sweep_recordings": 10.0,
    # at 3:41 every night: remove recordings past their retention
    "telephony.prune_recordings": LocalTime(hour="3", minute="41"),
    # every second: send deliveries that are due, and those whose message was lost
    "webhooks.sweep": 1.0,
    # every 20 seconds: continue resends whose message or worker was lost
    "webhooks.sweep_resends": 20.0,
    # at 2:41 every night: delete events that are 90 days old, and rows of removed webhooks
    "webhooks.prune": LocalTime(hour="2", minute="41"),
    # once a minute: read the mailboxes of ticket queues, and renew their tokens
    "tickets.poll_mailboxes": 60.0,
    # every 10 seconds: end the response targets of tickets whose customers were answered in a call or chat
    "tickets.sweep_answers": 10.0,
    # once a minute: bring back postponed tickets, run the rules of time
    "tickets.bring_back": 60.0,
    "tickets.sweep_rules": 60.0,
    "tickets.tell_deadlines": 60.0,
    "tickets.compute_open_tickets": 10.0,
    # every 10 seconds: give tickets that wait in teams to members who came back
    "tickets.sweep_teams": 10.0,
    # once an hour: delete unused uploaded files that are 24 hours old, and spam of 30 days
    "tickets.prune_files": crontab(minute="23"),
    # every 5 seconds: settle calls without a result and end previews that are over, in case no dialler does
    "campaigns.sweep_calls": 5.0,
    # every 5 seconds: renew stale rollups of hours, and of longer periods that are over
    "reports.refresh": 5.0,
    # at 3:47 every night: compare a sample of the rollups with the ledgers
    "reports.compare_rollups": LocalTime(hour="3", minute="47"),
    # every 20 seconds: start scheduled exports that are due
    "reports.run_schedules": 20.0,
    # at 3:17 every night: remove files of exports that are 30 days old
    "reports.prune_exports": LocalTime(hour="3", minute="17"),
    # at 3:19 every night: remove files of exports of lists that are 30 days old
    "lists.prune_exports": LocalTime(hour="3", minute="19"),
    # once an hour: count the words of catalogs whose articles have changed, for searches
    "knowledgebase.count_terms": crontab(minute="23"),
    # every 20 seconds: index articles whose message or worker was lost, and all articles after an upgrade
    "knowledgebase.sweep_word_forms": 20.0,
    # at 3:41 every night: delete old misses of searches, and images without an article
    "knowledgebase.prune": LocalTime(hour="3", minute="41"),
    # every 5 seconds: raise and clear alarms; the overview takes it as the sign that beat and the worker are there
    "overview.watch_alarms": 5.0,
    # at 3:35 every night: delete mails of alarms that are 30 days old
    "overview.prune_mails": LocalTime(hour="3", minute="35"),
    # every 20 seconds: ask the provider again about people who have been logged in for a quarter of an hour
    "signin.check_provider_sessions": 20.0,
    # at 3:27 every night: delete requests for new passwords that are a day old
    "signin.prune_resets": LocalTime(hour="3", minute="27"),
    # once an hour: delete answers of retried writes that are 24 hours old
    "callcentre.prune_idempotency": crontab(minute="7"),
    # at 3:29 every night: delete expired sessions of the back office
    "callcentre.prune_sessions": LocalTime(hour="3", minute="29"),
    # at 3:17 every night: remove uploaded import files and their error files that are 30 days old
    "campaigns.prune_imports": LocalTime(hour="3", minute="17"),
    # at 3:05 every night: delete attempts of the dialler past their retention
    "campaigns.prune_attempts": LocalTime(hour="3", minute="5"),
    # at 3:23 every night: remove files of exports of persons that are 30 days old
    "callcentre.prune_person_exports": LocalTime(hour="3", minute="23"),
    # at 2:53 every night: delete entries of the audit log past their retention
    "callcentre.prune_audit": LocalTime(hour="2", minute="53"),
    # every 20 seconds: remove the files that deletions left
    "callcentre.remove_files": 20.0,
}
SCHEDULE: dict[str, Any] = {
    task: {"task": task, "schedule": when, "options": {"expires": max(when, 2.0)} if isinstance(when, float) else {}}
    for task, when in _TIMES.items()
}
