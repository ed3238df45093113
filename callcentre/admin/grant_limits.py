"""The limits of people who manage access: they give only rights of their own and edit only people who are not stronger.

A person is stronger than another one who lacks one of their permissions, or whose scope lacks a part of theirs. A
superuser is stronger than all other people. Inactive accounts count like active ones. docs/decisions/0021 and 0031 have
the whole rule.
"""

from collections.abc import Mapping

from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db.models import Q, QuerySet

from callcentre.core.scope import within_scope
from callcentre.models import RIGHTS, ApiUser, User


def givable_permissions(user: User) -> QuerySet[Permission]:
    """Return the permissions that the user may give: their own."""
    if user.is_superuser:
        return Permission.objects.all()
    return Permission.objects.filter(pk__in=_own(user))


def givable_groups(user: User) -> QuerySet[Group]:
    """Return the groups that the user may put people into: those with no permission that the user lacks."""
    return Group.objects.exclude(permissions__in=_lacking(user))


def stronger_users(user: User) -> QuerySet[User]:
    """Return the people whom the user may not edit: superusers, and those with a permission that the user lacks, or
    with a scope that is not inside the user's.
    """
    if user.is_superuser:
        return User.objects.none()
    lacking = _lacking(user)
    stronger = Q(is_superuser=True) | Q(user_permissions__in=lacking) | Q(groups__permissions__in=lacking)
    if not user.scope.is_all:
        stronger |= ~Q(pk__in=within_scope(User.objects.all(), user).values("pk"))
    return User.objects.filter(stronger).distinct()


def stronger_groups(user: User) -> QuerySet[Group]:
    """Return the groups that the user may not edit: with a permission that the user lacks, or a stronger member."""
    if user.is_superuser:
        return Group.objects.none()
    return Group.objects.filter(Q(permissions__in=_lacking(user)) | Q(user__in=stronger_users(user))).distinct()


def givable_rights(user: User) -> list[str]:
    """Return the rights that the user may give to API users: those of areas that the user may use in the admin.

    A user with a scope may give none, because API users see all rows.
    """
    if user.is_superuser:
        return RIGHTS
    if not user.scope.is_all:
        return []
    needed = needed_permissions()
    return [right for right in RIGHTS if right in needed and all(_holds(user, name) for name in needed[right])]


def is_stronger(api_user: ApiUser, user: User) -> bool:
    """Return whether the API user has a right that the user may not give."""
    return not set(api_user.rights).issubset(givable_rights(user))


def needed_permissions() -> Mapping[str, tuple[str, ...]]:
    """Return right -> the permissions of the admin that a person needs to give it, as the apps declare them.

    The wildcards (`*`, `*:read`, `*:write`) include future areas, so no permissions stand for them.
    """
    needed: dict[str, tuple[str, ...]] = {}
    for config in apps.get_app_configs():
        for right, codenames in getattr(config, "api_permissions", {}).items():
            needed[right] = needed.get(right, ()) + tuple(f"{config.label}.{codename}" for codename in codenames)
    return needed


def _holds(user: User, permission: str) -> bool:
    """Return whether the user has a permission. In the admin the right to change is the right to view, too."""
    return user.has_perm(permission) or user.has_perm(permission.replace(".view_", ".change_"))


def _own(user: User) -> QuerySet[Permission]:
    return Permission.objects.filter(Q(user=user) | Q(group__user=user))


def _lacking(user: User) -> QuerySet[Permission]:
    return Permission.objects.none() if user.is_superuser else Permission.objects.exclude(pk__in=_own(user))
