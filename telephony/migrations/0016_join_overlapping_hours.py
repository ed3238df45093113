"""Make one row of opening hours that overlap: the constraint that follows refuses them."""

from typing import Any

from django.db import migrations

from callcentre.core.opening_hours import join_overlapping


def join_hours(apps: Any, schema_editor: Any) -> None:
    join_overlapping(apps.get_model("telephony", "OpeningHours"))


class Migration(migrations.Migration):
    dependencies = [("telephony", "0015_unseen_ends")]

    operations = [migrations.RunPython(join_hours, migrations.RunPython.noop)]
