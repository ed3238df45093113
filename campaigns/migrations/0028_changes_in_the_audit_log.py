"""The index of the changes of records that the audit log shows. Writes go on meanwhile."""

from django.db import migrations, models
from django.db.models import Q

from callcentre.core.migration_steps import AddMissingIndex, RemovePresentIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("campaigns", "0027_refuse_invalid_numbers")]

    operations = [
        AddMissingIndex(
            "recordchange",
            models.Index(
                fields=["-at"], condition=~Q(action__in=("import", "recycle")), name="recordchange_of_log"
            ),
        ),
        RemovePresentIndex("recordchange", "recordchange_at"),
    ]
