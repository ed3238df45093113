"""The last contact with the switch, and requests to the simulated one."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class SwitchContact(models.Model):
    """The last contact with the switch: one row, which the leading listener updates about once a second.

    It survives the listener, the switch and the machine. A call that is gone at the next contact is presumed to have
    ended at the stored one.
    """

    heard_at = models.DateTimeField(_("heard"))

    class Meta:
        verbose_name = _("contact with the switch")
        verbose_name_plural = _("contacts with the switch")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.heard_at:%Y-%m-%d %H:%M:%S}"


class SwitchCommand(models.Model):
    """A request of another process to the simulated switch, which runs in the listener's process.

    The requesting process waits for the answer and then deletes the row. A request is carried out once at most: it is
    first taken, then done. A request that is not taken in time is withdrawn.
    """

    name = models.CharField(max_length=30)
    arguments = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    taken_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)
    # Why the switch refused, and its Q.850 cause, if any.
    error = models.CharField(max_length=200, blank=True)
    cause = models.PositiveSmallIntegerField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["id"], condition=models.Q(taken_at__isnull=True), name="switchcommand_open")]

    def __str__(self) -> str:
        return f"{self.name} {self.pk}"
