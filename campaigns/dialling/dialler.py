"""The dialler process: each second it looks at the campaigns that it owns and calls the next records.

Several processes share the campaigns. All state is in rows, so a campaign goes on where its owner died.
"""

import logging
import os
import socket
import threading
import time

import psycopg
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from prometheus_client import Counter

from callcentre.core.pubsub import subscribe
from callcentre.core.sweeps import going_on
from campaigns.dialling import choice, outcomes, previews, trunk
from campaigns.dialling.campaign_tick import CampaignTick
from campaigns.dialling.ownership import Ownership, groups_of
from campaigns.models import Campaign
from telephony.calls import switch_requests
from telephony.calls.switch_requests import RequestThreads

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
# The shortest pause between two ticks.
LEAST_SECONDS = 0.05
PAUSE_SECONDS = 1.0
# For requests to the switch when the dialler stops.
PATIENCE_SECONDS = 5.0

failures = Counter("callcentre_dialler_failures", "Ticks of a campaign, and sweeps, that failed")


class Dialler:
    """Dials until `is_stopping` is set."""

    def __init__(self) -> None:
        # A plain attribute: a signal handler may set it at any moment.
        self.is_stopping = False
        self._over = threading.Event()
        self._tick_due = threading.Event()
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._ownership: Ownership | None = None
        self._ticks: dict[int, CampaignTick] = {}

    def run(self) -> None:
        for topic in ("calls", "dialling"):
            subscribe(topic, self._tick_due.set, self._over)
        switch_requests.threads = threads = RequestThreads()
        while not self.is_stopping:
            threads.begin_round()
            try:
                self.tick()
            except (psycopg.Error, OperationalError, InterfaceError) as error:
                logger.warning("the database did not answer", extra={"error": str(error)})
                self.disown()
                connection.close()
                time.sleep(PAUSE_SECONDS)
            self._tick_due.wait(TICK_SECONDS)
            self._tick_due.clear()
            time.sleep(LEAST_SECONDS)
        self.disown()
        self._over.set()
        switch_requests.threads = None
        threads.shut_down(PATIENCE_SECONDS)
        connection.close()

    def tick(self) -> None:
        """Do what is due in all campaigns of this process."""
        for sweep in (outcomes.settle_due, previews.sweep, choice.release_held, trunk.recover):
            with going_on("a sweep of the dialler failed", failures, sweep=sweep.__qualname__):
                sweep(timezone.now())
        for campaign in self._own():
            tick = self._ticks.setdefault(campaign.pk, CampaignTick(campaign.pk, self.name))
            with going_on("a campaign could not be dialled", failures, campaign=campaign.code):
                tick.run(campaign, timezone.now())

    def _own(self) -> list[Campaign]:
        """Return the campaigns to dial that belong to this process, in the order of dialling."""
        diallable = list(
            Campaign.objects.diallable_on(timezone.localdate()).filter(is_dialling=True).order_by("order", "code")
        )
        if not previews.is_running():
            diallable = []
        if self._ownership is None:
            self._ownership = Ownership()
        self._ownership.hold(groups_of({campaign.pk for campaign in diallable}))
        self._ticks = {pk: tick for pk, tick in self._ticks.items() if pk in self.campaigns}
        return [campaign for campaign in diallable if campaign.pk in self.campaigns]

    @property
    def campaigns(self) -> set[int]:
        return self._ownership.campaigns if self._ownership else set()

    def disown(self) -> None:
        """Leave the campaigns to other processes."""
        if self._ownership:
            self._ownership.close()
        self._ownership = None
        self._ticks = {}
