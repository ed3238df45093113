"""The index of the wrap-ups of calls, for the report by queue. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("telephony", "0025_audit")]

    operations = [
        AddMissingIndex(
            "agentstate",
            models.Index(
                fields=["connection"], condition=models.Q(kind="wrap_up"), name="agentstate_wrap_up_of_call"
            ),
        ),
    ]
