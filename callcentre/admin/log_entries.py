"""Django's log of edits, which pages show to people who may not see the audit log."""

import json
from collections.abc import Iterable
from typing import Any, cast

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest

from callcentre.admin.theme import ModelAdmin


class NamelessLogMixin(ModelAdmin):
    """Entries without the names of rows, which may be those of customers: the log is kept longer than the rows."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry:
        """Write the entry without the name of the row."""
        [entry] = _write(request, [obj], ADDITION, message)
        return entry

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry:
        """Write the entry without the name of the row."""
        [entry] = _write(request, [obj], CHANGE, message)
        return entry

    def log_deletions(self, request: HttpRequest, queryset: Any) -> list[LogEntry]:
        """Write the entries without the names of the rows."""
        return _write(request, queryset, DELETION, "")


def _write(request: HttpRequest, rows: Iterable[Any], flag: int, message: Any) -> list[LogEntry]:
    if isinstance(message, list):
        message = json.dumps([{verb: _nameless(said) for verb, said in part.items()} for part in message])
    return LogEntry.objects.bulk_create(
        LogEntry(
            user_id=cast("int", request.user.pk),
            content_type_id=ContentType.objects.get_for_model(row, for_concrete_model=False).pk,
            object_id=row.pk,
            action_flag=flag,
            change_message=message,
        )
        for row in rows
    )


def _nameless(said: dict[str, Any]) -> dict[str, Any]:
    return {**said, "object": "•••"} if "object" in said else said
