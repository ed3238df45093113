from typing import Any, cast

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from callcentre.api.exceptions import Refusal
from callcentre.core.errors import ErrorCode


def operation_of(view: Any) -> Any:
    """Return the description of the operation: of the class if it has but one, else of the method; None without."""
    return getattr(view, "operation", None) or getattr(getattr(view, view.action or "", None), "operation", None)


def needed_right(view: Any, method: str) -> str:
    """Return the right that an operation needs, as "tickets:read"; "" if any API user may call it."""
    if not view.area:
        return ""
    is_reading = method in SAFE_METHODS and getattr(view, "action", None) not in view.secret_actions
    return f"{view.area}:{'read' if is_reading else 'write'}"


class IsAuthenticated(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        return bool(request.user)


class HasRight(BasePermission):
    """The API user's right to the view's area: read for GET; write for other methods and for secrets."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user:
            return False
        right = needed_right(view, request.method or "GET")
        if right and not cast("Any", request.user).has_right(right):
            raise Refusal(403, ErrorCode.FORBIDDEN, right=right)
        return True
