from django.db import models


class SwitchCommand(models.Model):
    """What a process asks of the simulated switch, which lives in the listener's process.

    Whoever asked waits for the answer and then removes the row. It is carried out once at most: taken first, done
    afterwards; one that nobody took in time is withdrawn.
    """

    name = models.CharField(max_length=30)
    arguments = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    taken_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)
    # Why the switch refused, and the Q.850 cause if it says one.
    error = models.CharField(max_length=200, blank=True)
    cause = models.PositiveSmallIntegerField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["id"], condition=models.Q(taken_at__isnull=True), name="switchcommand_open")]

    def __str__(self) -> str:
        return f"{self.name} {self.pk}"
