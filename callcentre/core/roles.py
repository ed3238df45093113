"""The roles that a new installation delivers as groups of users (docs/security.md#roles).

Each app declares in `role_rights` of its `apps.py` the rights that the roles have over its models. Administrators have
all rights over the models of these apps, auditors may view all. The groups are written once, by a migration. After it
they belong to the installation.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.utils.translation import gettext_lazy as _

# Role -> letters of rights -> names of models.
RoleRights = Mapping[str, Mapping[str, str]]
# Letter of a right -> the first word of the permission.
ACCESS = {"v": "view", "a": "add", "c": "change", "d": "delete", "s": "share", "m": "monitor"}
# The name that the database has -> the name that people read.
NAMES = {
    "Agent": _("Agent"),
    "Supervisor": _("Supervisor"),
    "Administrator": _("Administrator"),
    "Knowledge editor": _("Knowledge editor"),
    "Auditor": _("Auditor"),
}


# Role -> the role whose rights it has, too.
INCLUDED = {"Supervisor": "Agent"}


def has_right(role: str, app: str, codename: str) -> bool:
    """Return whether a delivered role has the permission."""
    access, _underscore, model = codename.partition("_")
    declared: RoleRights | None = getattr(apps.get_app_config(app), "role_rights", None)
    if declared is None:
        # A model of Django.
        if (app, model) != ("auth", "group"):
            return False
        declared = {}
    if role in ("Administrator", "Auditor"):
        return role == "Administrator" or access == ACCESS["v"]
    return any(
        model in models.split() and access in {ACCESS[letter] for letter in letters}
        for each in _with_included(role)
        for letters, models in declared.get(each, {}).items()
    )


def _with_included(role: str) -> Iterator[str]:
    while role:
        yield role
        role = INCLUDED.get(role, "")


def deliver(historical: Any, roles: Iterable[str]) -> None:
    """Write these roles as groups, in a migration. A group of the same name stays as it is.

    Permissions are usually written after all migrations. So those of the models of this release are written first.
    """
    for config in apps.get_app_configs():
        create_permissions(config, verbosity=0)
    group, permission = historical.get_model("auth", "Group"), historical.get_model("auth", "Permission")
    known = list(permission.objects.values_list("pk", "content_type__app_label", "codename"))
    for role in roles:
        made, is_new = group.objects.get_or_create(name=role)
        if is_new:
            made.permissions.set([pk for pk, app, codename in known if has_right(role, app, codename)])
