"""The report of an action on many rows: each reason of a refusal with the names of some of its rows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from callcentre.admin.base import Admin
from callcentre.lists.listed import WorkerRequest

# A sentence has this many names and counts the others.
NAMED = 5


def some_of(names: Sequence[str]) -> str:
    more = _(" and %(count)s more") % {"count": len(names) - NAMED} if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def report_refusals(admin: Admin, request: HttpRequest, refused: Iterable[tuple[str, str]]) -> None:
    """Show a message for each reason. `refused` has the name of a row and a reason why it was not changed."""
    if isinstance(request, WorkerRequest):  # which names the row itself
        request.refusals += [reason for _name, reason in refused]
        return
    reasons: dict[str, list[str]] = defaultdict(list)
    for name, reason in refused:
        reasons[reason].append(name)
    for reason, names in reasons.items():
        sentence = _("Not changed: %(numbers)s. %(reason)s") % {"numbers": some_of(names), "reason": reason}
        admin.message_user(request, sentence, messages.ERROR)
