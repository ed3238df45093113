"""The row of the settings of customers: on in a new installation, off in one that is in use."""

from typing import Any

from django.db import migrations

# An installation that is in use has a row of one of these. Without a user there is no access.
IN_USE = (
    ("callcentre", "User"),
    ("callcentre", "ApiUser"),
    ("tickets", "Customer"),
    ("tickets", "Ticket"),
    ("telephony", "Connection"),
)


def write(apps: Any, schema_editor: Any) -> None:
    is_new = not any(apps.get_model(app, model).objects.exists() for app, model in IN_USE)
    settings = apps.get_model("tickets", "CustomerSettings")
    settings.objects.get_or_create(pk=1, defaults={"creates_unknown": is_new})


class Migration(migrations.Migration):
    dependencies = [
        ("callcentre", "0003_deletions"),
        ("telephony", "0010_ledger_changes"),
        ("tickets", "0013_customer_settings"),
    ]

    operations = [migrations.RunPython(write, migrations.RunPython.noop)]
