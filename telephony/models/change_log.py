"""What the ledgers say of whose time has changed: noted by every verb that changes it, read by reports."""

from datetime import datetime
from typing import Any

from django.db import connection, models
from django.utils.translation import gettext_lazy as _

from telephony.models.agent import Agent

# Of an agent's history: before the first call that there can have been, and after the last.
_EVERYTHING = """
INSERT INTO telephony_ledgerchange (agent_id, since, until)
SELECT id, %s, %s FROM telephony_agent
"""


class LedgerChange(models.Model):
    """A span of an agent's time of which the ledgers say something else than before, both ends included.

    Written in the transaction of the change, deleted by whoever keeps sums of the ledgers (reports) in the one that
    brings them up to date. Never changed otherwise.
    """

    agent = models.ForeignKey(
        Agent, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False, verbose_name=_("agent")
    )
    since = models.DateTimeField(_("from"))
    until = models.DateTimeField(_("to"))

    class Meta:
        verbose_name = _("change of the ledgers")
        verbose_name_plural = _("changes of the ledgers")
        ordering = ["id"]
        indexes = [models.Index(fields=["agent"], name="ledgerchange_of_agent")]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.since:%Y-%m-%d %H:%M:%S}"


def note(agent_id: int, since: datetime, until: datetime) -> None:
    """Something that began and ended then is over, or is another than it was."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO telephony_ledgerchange (agent_id, since, until) VALUES (%s, %s, %s)", [agent_id, since, until]
        )


def note_rows(select: str, parameters: Any) -> None:
    """The same for whatever a query finds: agent, since, until."""
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO telephony_ledgerchange (agent_id, since, until) {select}", parameters)


def note_everything(since: datetime, until: datetime) -> None:
    """Rows were filled in, or may have been: of every agent, between these."""
    with connection.cursor() as cursor:
        cursor.execute(_EVERYTHING, [since, until])
