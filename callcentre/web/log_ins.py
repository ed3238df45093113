"""The entries of the audit log about log-ins of the back office."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed

from callcentre.core.actor import SYSTEM
from callcentre.core.audit import AuditAction, record, record_once
from callcentre.models import User


def _log_in(user: User, **_unused: Any) -> None:
    record(user.actor, AuditAction.LOG_IN, user)


def _log_out(user: User | None, **_unused: Any) -> None:
    if user is not None:
        record(user.actor, AuditAction.LOG_OUT, user)


def _refuse(credentials: dict[str, Any], **_unused: Any) -> None:
    """Log a refused log-in, once a minute for a login and an address: a program may try a thousand passwords.

    Only the login of a user is named: people also type passwords into its field.
    """
    login = str(credentials.get("username", ""))
    if not User.objects.filter(username=login).exists():
        login = ""
    record_once(SYSTEM, AuditAction.LOG_IN_REFUSED, name=login, within=timedelta(minutes=1))


user_logged_in.connect(_log_in, dispatch_uid="callcentre.web.log_ins")
user_logged_out.connect(_log_out, dispatch_uid="callcentre.web.log_ins")
user_login_failed.connect(_refuse, dispatch_uid="callcentre.web.log_ins")
