"""The people who need a second factor (the setting TWO_FACTOR), and the log-ins that count.

With `supervisors`, the people of MANAGING need one, and superusers. A log-in of such a person without a second factor
counts on no page: the person can only set one up. People who log in by a provider of OpenID Connect give their second
factor there. With OIDC_ONLY, only they and superusers count.
"""

from django.conf import settings
from django.contrib.auth.models import Permission
from django.db.models import Exists, OuterRef, Q, QuerySet

from callcentre.models import User
from callcentre.signin.models import ProviderIdentity, SecondFactor

OFF, SUPERVISORS = "off", "supervisors"
# App -> permissions. A user with one of them sees other agents or their campaigns, and so is a supervisor.
SUPERVISING = {
    "telephony": ("view_agent", "change_agent"),
    "campaigns": ("view_campaign", "change_campaign"),
}
# The same, with the permissions to manage access, programs and personal data.
MANAGING = {
    **SUPERVISING,
    "auth": ("add_group", "change_group", "delete_group"),
    "callcentre": (
        *("add_user", "change_user", "add_apiuser", "change_apiuser"),
        *("delete_personal_data", "view_auditlog"),
    ),
    "webhooks": ("add_webhook", "change_webhook"),
}


def admitted(users: QuerySet[User]) -> QuerySet[User]:
    """Return the users whose log-in counts. The condition is part of the one statement that reads the user."""
    if settings.OIDC_ONLY:
        users = users.filter(Q(is_superuser=True) | _comes_by_provider())
    if settings.TWO_FACTOR == OFF:
        return users
    return users.filter(Exists(SecondFactor.objects.filter(user=OuterRef("pk"), confirmed=True)) | ~_needs_one())


def must_set_up(user: User) -> bool:
    """Return whether the user needs a second factor and has none."""
    return settings.TWO_FACTOR != OFF and not admitted(User.objects.filter(pk=user.pk)).exists()


def is_required_of(user: User) -> bool:
    return settings.TWO_FACTOR != OFF and User.objects.filter(_needs_one(), pk=user.pk).exists()


def _needs_one() -> Q:
    managing = Q()
    for app, codenames in MANAGING.items():
        managing |= Q(content_type__app_label=app, codename__in=codenames)
    permissions = Permission.objects.filter(managing)
    has_one = Q(Exists(permissions.filter(user=OuterRef("pk")))) | Q(
        Exists(permissions.filter(group__user=OuterRef("pk")))
    )
    return Q(is_superuser=True) | (has_one & ~_comes_by_provider())


def _comes_by_provider() -> Q:
    """Return the condition of people who log in by the provider alone, which asks for their second factor."""
    return Q(Exists(ProviderIdentity.objects.filter(user=OuterRef("pk"))))
