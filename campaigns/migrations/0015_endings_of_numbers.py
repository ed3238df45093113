"""Indexes of searches by the last digits of a number. Writes go on meanwhile."""

from django.contrib.postgres.indexes import OpClass
from django.db import migrations, models
from django.db.models.functions import Reverse

from callcentre.core.migration_steps import AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("campaigns", "0014_label_of_the_campaign_of_an_offer")]

    operations = [
        AddMissingIndex(
            model, models.Index(OpClass(Reverse("number"), name="text_pattern_ops"), name=f"{model}_ending")
        )
        for model in ("record", "additionalnumber")
    ]
