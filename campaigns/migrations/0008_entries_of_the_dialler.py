from datetime import time

from django.db import migrations
from django.db.models import Max

ENTRIES = [
    ("contacted", "Contacted", "NO_CALL", {}),
    ("wrong_number", "Wrong number", "NO_CALL", {"is_wrong_number": True}),
    ("call_later", "Call later", "CALL_NO_SOONER_THAN", {}),
]


def add_entries(apps, schema_editor):
    """Add the results that the dialler uses to the dictionary, and to each campaign that has no status of the name."""
    DictionaryStatus = apps.get_model("campaigns", "DictionaryStatus")
    Campaign = apps.get_model("campaigns", "Campaign")
    RecordStatus = apps.get_model("campaigns", "RecordStatus")
    last = DictionaryStatus.objects.aggregate(last=Max("order"))["last"] or 0
    for position, (key, name, system_status, marks) in enumerate(ENTRIES, start=1):
        order = last + 10 * position
        entry, is_new = DictionaryStatus.objects.get_or_create(
            name=name, defaults={"system_status": system_status, "order": order, "key": key, **marks}
        )
        if not is_new:
            # The entry of the installation keeps its meaning.
            DictionaryStatus.objects.filter(pk=entry.pk).update(key=key)
        without = Campaign.objects.exclude(statuses__dictionary_status=entry).exclude(statuses__name=name)
        RecordStatus.objects.bulk_create(
            RecordStatus(
                campaign_id=pk,
                name=name,
                system_status=entry.system_status,
                dictionary_status=entry,
                order=entry.order,
                **marks,
            )
            for pk in without.values_list("pk", flat=True)
        )


def add_legal_hours(apps, schema_editor):
    """Add the only legal rule that is delivered."""
    apps.get_model("campaigns", "LegalHours").objects.create(
        name="United States",
        prefix="1",
        weekdays="1234567",
        begins_at=time(8),
        ends_at=time(21),
        allows_holidays=True,
        source="47 CFR 64.1200(c)(1)",
    )


def add(apps, schema_editor):
    add_entries(apps, schema_editor)
    add_legal_hours(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0007_dialling")]

    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
