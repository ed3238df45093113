"""The settings of Celery, the same for every installation. State, due times and attempts are columns of our tables; a
message carries only a primary key.
"""

import sys

from callcentre.schedule import SCHEDULE

CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_QUEUE_NAMES = ("calls", "webhooks", "mail", "default", "reports")
CELERY_TASK_ROUTES = {
    "webhooks.notify_disabled": {"queue": "mail"},
    "webhooks.*": {"queue": "webhooks"},
    "telephony.*": {"queue": "calls"},
    "tickets.*": {"queue": "mail"},
    "overview.watch_alarms": {"queue": "calls"},
    "overview.*": {"queue": "mail"},
    "signin.*": {"queue": "mail"},
    "reports.mail_export": {"queue": "mail"},
    "callcentre.sweep_due_work": {"queue": "calls"},
    "reports.*": {"queue": "reports"},
    "lists.*": {"queue": "reports"},
}
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = 3600
CELERY_TASK_SOFT_TIME_LIMIT = 3500
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 1000
# A worker keeps its database connections as long as the web server does: by their age (callcentre.celery).
CELERY_DB_REUSE_MAX = sys.maxsize
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 10
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker waits for the broker for ever: otherwise a person would have to start it again.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Requests publish tasks too, so they try once. Sweeps find the rows whose task was not published.
CELERY_TASK_PUBLISH_RETRY = False
# In a zone with clock changes, intervals lose an hour each autumn. schedule.LocalTime keeps local time.
CELERY_TIMEZONE = "UTC"
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Longer than the longest task: the broker delivers the message again after this time.
    "visibility_timeout": 2 * CELERY_TASK_TIME_LIMIT,
    "unacked_restore_throttle": 1,
    "socket_timeout": 30,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 25,
    "global_keyprefix": "cc:",
}

CELERY_BEAT_SCHEDULER = "callcentre.beat.Scheduler"
CELERY_BEAT_SCHEDULE = SCHEDULE
