"""Actions of a list that ask for confirmation: a page names the rows that the action ends or switches off."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from callcentre.admin.base import MAX_SELECTED

# The admin, the request, the selected rows.
Action = Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]


def confirm_first(consequence: Any, **changed: Any) -> Callable[[Action], Action]:
    """Make an action show its consequence and its rows, and wait for confirmation.

    `changed` are look-ups of the rows that the action changes. The page names these rows alone. After confirmation the
    action gets the rows that were named.
    """

    def decorate(action: Action) -> Action:
        @wraps(action)
        def confirmed(admin: Any, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse | None:
            rows = rows.filter(**changed)
            if "apply" in request.POST:
                return action(admin, request, rows)
            chosen = list(rows[: MAX_SELECTED + 1])
            if not chosen:
                return action(admin, request, rows.none())
            if len(chosen) > MAX_SELECTED:
                sentence = _("At most %(count)s rows at once.") % {"count": MAX_SELECTED}
                admin.message_user(request, sentence, messages.ERROR)
                return None
            label = confirmed.__dict__["short_description"]  # of admin.action
            page: HttpResponse = admin.action_page(
                request, title=label, submit=label, selected=chosen, intro=consequence
            )
            return page

        confirmed.consequence, confirmed.changed = consequence, changed  # type: ignore[attr-defined]
        return confirmed

    return decorate
