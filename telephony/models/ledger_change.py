from django.db import models
from django.utils.translation import gettext_lazy as _

from telephony.models.agent import Agent


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
