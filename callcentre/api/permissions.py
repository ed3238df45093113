from typing import Any, cast

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from callcentre.api.exceptions import Forbidden


def needed_right(area: str, method: str) -> str:
    return f"{area}:{'read' if method in SAFE_METHODS else 'write'}"


class IsAuthenticated(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        return bool(request.user)


class HasRight(BasePermission):
    """The API user holds the right of the view's area: read for GET, write for the rest. No area: any API user."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user:
            return False
        right = needed_right(view.area, request.method or "GET")
        if view.area and not cast("Any", request.user).has_right(right):
            raise Forbidden(right)
        return True
