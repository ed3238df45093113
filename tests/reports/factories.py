"""Factories of rollups and exports, for tests of rows; reports.rollups sums real rollups."""

from datetime import UTC, datetime, timedelta

import factory

from reports.models import Export, ExportMail, Rollup, RollupProgress, Schedule, ScheduleChange
from tests.model_factory import ModelFactory

_HOUR = datetime(2026, 11, 20, 8, tzinfo=UTC)


class RollupFactory(ModelFactory[Rollup]):
    """An hour in which nothing is counted."""

    level = 1
    queue_id = 0
    agent_id = 1
    started_at = _HOUR


class RollupProgressFactory(ModelFactory[RollupProgress]):
    class Meta:
        model = RollupProgress
        django_get_or_create = ("level",)

    level = 2
    until = _HOUR


class ExportFactory(ModelFactory[Export]):
    """Of a day, waiting for its worker."""

    class Params:
        finished = factory.Trait(state="finished", percent=100, finished_at=_HOUR)

    aggregation = "day"
    columns = ["inbound.count"]
    begins_at = _HOUR
    ends_at = _HOUR + timedelta(days=1)
    actor_kind = "user"
    actor_name = "tester"


class ScheduleFactory(ModelFactory[Schedule]):
    """Every day at six, of the day before; due at the hour of the other factories."""

    name = factory.Sequence(lambda n: f"Schedule {n}")
    aggregation = "day"
    columns = ["inbound.count", "login_sum"]
    recipients = ["boss@example.com"]
    next_due_at = _HOUR


class ScheduleChangeFactory(ModelFactory[ScheduleChange]):
    schedule = factory.SubFactory(ScheduleFactory)
    actor_kind = "user"
    actor_name = "tester"
    action = "edit"


class ExportMailFactory(ModelFactory[ExportMail]):
    export = factory.SubFactory(ExportFactory, finished=True)
    recipient = "boss@example.com"
