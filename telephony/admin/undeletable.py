from typing import Any

from django.http import HttpRequest


class Undeletable:
    """The admin of rows to which calls and the ledger refer. They are made inactive, not deleted."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
