"""Log-in to the admin, throttled against guessing."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from callcentre import limits
from callcentre.models import User
from callcentre.network import client_address

REALM = "admin"


class ThrottledBackend(ModelBackend):
    """Django's own, refusing even a right password while too many wrong ones came from its address."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        address = client_address(request.META) if request else ""
        if request and limits.locked_for(REALM, username or "", address):
            raise PermissionDenied
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is None and request:
            limits.count_failure(REALM, username or "", address)
        return user
