"""The index of a search by the last digits of the customer's number. Writes go on meanwhile."""

from django.contrib.postgres.indexes import OpClass
from django.db import migrations, models
from django.db.models import Case, F, Q, When
from django.db.models.functions import Reverse

from callcentre.core.migration_steps import AddMissingIndex

CUSTOMER_NUMBER = Case(When(direction="INBOUND", then=F("src_number")), default=F("dst_number"))


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("telephony", "0023_standing_lines_in_calls")]

    operations = [
        AddMissingIndex(
            "connection",
            models.Index(
                OpClass(Reverse(CUSTOMER_NUMBER), name="text_pattern_ops"),
                condition=Q(state="ended"),
                name="connection_ending",
            ),
        ),
    ]
