from django.db import migrations

STATUSES = [
    ("To be called", "TO_CALL"),
    ("In progress", "IN_PROGRESS"),
    ("Call", "CALL"),
    ("Own record", "MY_RECORD"),
    ("Do not call", "NO_CALL"),
    ("Rejected after n tries", "ABANDONED_AFTER_N_TRIES"),
    ("Call no sooner than", "CALL_NO_SOONER_THAN"),
    ("Call in progressive mode", "CALL_PROGRESSIVE"),
]


def create_statuses(apps, schema_editor):
    """Create a dictionary entry for each system status, for a new installation."""
    DictionaryStatus = apps.get_model("campaigns", "DictionaryStatus")
    DictionaryStatus.objects.bulk_create(
        DictionaryStatus(name=name, system_status=system_status, order=10 * position)
        for position, (name, system_status) in enumerate(STATUSES, start=1)
    )


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0001_initial")]

    operations = [migrations.RunPython(create_statuses, migrations.RunPython.noop)]
