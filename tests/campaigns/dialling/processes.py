"""Diallers and listeners as processes that are killed, and what the rows must say afterwards."""

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from subprocess import Popen
from typing import Any

from django.db import connection

from campaigns.models import Attempt, Campaign, Record, RecordChange
from telephony.models import Connection, Leg
from tests.processes import wait_for
from tests.telephony.processes import Service
from tests.telephony.switch.ari_channels import Refused

Process = AbstractContextManager["Popen[bytes]"]

# Calls of one record that begin before the one before has ended.
_OVERLAPS = """
SELECT count(*) FROM (
  SELECT dialled_at < lag(ended_at) OVER (PARTITION BY record_id ORDER BY dialled_at, id) AS is_early
  FROM campaigns_attempt
) AS pairs WHERE is_early
"""


def dying(owner: Any, name: str, *, after: bool) -> None:
    """Let this process die before or after this function, even if it fails."""
    real = getattr(owner, name)

    def die(*args: Any, **values: Any) -> None:
        try:
            if after:
                real(*args, **values)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, die)


def kill(victim: "Popen[bytes]") -> None:
    victim.send_signal(signal.SIGKILL)
    victim.wait()


class Dialling(Service):
    """Listeners and diallers that are processes, and an Asterisk whose phones are picked up."""

    def dialler(self, name: str = "dialler", **more: str) -> Process:
        process: Process = self._running(name, "tests.campaigns.dialling.dialler_process", **more)
        return process

    def dying_listener(self, step: str, **more: str) -> Process:
        process: Process = self._running("listener", "tests.campaigns.dialling.listener_process", DIES=step, **more)
        return process

    def talk_until(self, is_done: Callable[[], object], what: str) -> None:
        """Let all customers who talk hang up, until the condition is true."""

        def look() -> object:
            talking = Leg.objects.filter(role=Leg.Role.CUSTOMER, connection__state="talking", ended_at=None)
            for channel_id in talking.values_list("channel_id", flat=True):
                with suppress(Refused):  # gone already, which the listener has not heard yet
                    self.ari.pbx.far_end_hangs_up(channel_id)
            return is_done()

        wait_for(look, what)

    def talk_to_the_end(self, campaign: Campaign) -> None:
        """Let customers hang up until each record has had its call, or waits for a later one."""
        self.talk_until(lambda: not unsettled(campaign), "all records are called")


def unsettled(campaign: Campaign) -> bool:
    """Return whether a record waits for its first call, or is in one."""
    return campaign.records.filter(system_status__in=("TO_CALL", "IN_PROGRESS")).exists()


def assert_settled(campaign: Campaign, asked: dict[str, int] | None = None) -> None:
    """Nothing goes on, no record is held, each attempt has one call, and all counts are those of the attempts.

    `asked`: how often the switch was asked for each channel.
    """
    wait_for(lambda: not Leg.objects.filter(ended_at=None).exists(), "all legs ended")
    wait_for(lambda: not Connection.objects.open().exists(), "no call goes on")
    assert set(campaign.records.values_list("leased_by", flat=True)) == {""}
    assert not Record.objects.filter(system_status="IN_PROGRESS").exists()
    assert not Attempt.objects.filter(ended_at=None).exists()
    assert not Attempt.objects.filter(settled_at=None).exists()
    if asked is not None:
        assert set(asked.values()) <= {1}
    dialled = Attempt.objects.exclude(outcome="not_dialled")
    customers = Leg.objects.filter(role=Leg.Role.CUSTOMER).values_list("connection_id", flat=True)
    assert sorted(customers) == sorted(dialled.values_list("connection_id", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(_OVERLAPS)
        assert cursor.fetchone()[0] == 0
    day = campaign.dialling_days.get()
    assert day.attempts == dialled.count()
    assert day.live_answers == dialled.filter(outcome__in=("answered", "dropped")).count()
    # One entry of the history for each dial, and one for its end, in the transactions of both.
    changes = RecordChange.objects.filter(record__campaign=campaign)
    assert changes.filter(action="dial").count() == Attempt.objects.count()
    assert changes.exclude(action="dial").count() == Attempt.objects.count()
