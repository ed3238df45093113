"""Deliver the roles as groups, once. A group of the same name that exists is left alone.

Permissions are usually written after all migrations, so they are written here first.
"""

from typing import Any

from django.apps import apps as present
from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from callcentre.core.roles import NAMES, rights_of


def deliver(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for config in present.get_app_configs():
        create_permissions(config, verbosity=0)
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    known = list(permission.objects.values_list("pk", "content_type__app_label", "codename"))
    for role in NAMES:
        row, is_new = group.objects.get_or_create(name=role)
        if is_new:
            row.permissions.set(rights_of(role, known))


class Migration(migrations.Migration):
    dependencies = [
        ("callcentre", "0006_scope"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(deliver, migrations.RunPython.noop)]
