from django.db import models
from django.utils.translation import gettext_lazy as _

from telephony.models.agent import Agent


class LedgerChange(models.Model):
    """A span of an agent's time, with both ends, in which the ledgers have changed.

    Triggers write it in the transaction of the change (reports/migrations/0015), however the rows were written. The
    reports delete it in the transaction that updates their rollups. It never changes.
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
