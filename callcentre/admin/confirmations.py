"""Actions of a list that ask first: a page names the rows that the action ends or switches off."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from callcentre.admin.base import MAX_SELECTED

Action = Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]


def confirm_first(consequence: Any, **changed: Any) -> Callable[[Action], Action]:
    """Make an action show its consequence and its rows before it does anything.

    `changed` are look-ups of the rows that the action changes. The page names these rows alone, and once a person has
    agreed the action is done to the rows that were named.
    """

    def decorate(action: Action) -> Action:
        @wraps(action)
        def asked(self: Any, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse | None:
            rows = rows.filter(**changed)
            if "apply" in request.POST:
                return action(self, request, rows)
            chosen = list(rows[: MAX_SELECTED + 1])
            if not chosen:
                return action(self, request, rows.none())
            if len(chosen) > MAX_SELECTED:
                sentence = _("At most %(count)s rows at once.") % {"count": MAX_SELECTED}
                self.message_user(request, sentence, messages.ERROR)
                return None
            label = asked.short_description  # type: ignore[attr-defined]  # of admin.action
            page: HttpResponse = self.action_page(
                request, title=label, submit=label, selected=chosen, intro=consequence
            )
            return page

        return asked

    return decorate
