"""The end of a deletion of personal data: the files of lists and the words of searches are removed.

A file cannot be searched for the person, so all files of lists are removed. People export again what they still need.
"""

from typing import Any

from django.db import transaction
from django.db.models import Q

from callcentre.core.audit import AuditAction, AuditEntry
from callcentre.core.deletions import forget_log_entries
from callcentre.core.enqueue import enqueue
from callcentre.lists.models import ListAction, ListExport, SavedView

# The parameter of an address with the words that were searched for.
_SEARCHES = Q(query__contains="q=")


def forget(**_unused: Any) -> None:
    """Remove files and search words of all lists. An export that is being built begins again."""
    with transaction.atomic():
        ListExport.objects.forget_files()
        enqueue("lists.build_exports")
        ended = ~Q(state__in=[ListExport.State.QUEUED, ListExport.State.RUNNING])
        ListExport.objects.filter(_SEARCHES, ended).update(query="")
        ListAction.objects.filter(_SEARCHES, ended).update(query="", form="")
        searching = SavedView.objects.filter(_SEARCHES).select_for_update(no_key=True)
        views = list(searching.values_list("pk", flat=True))
        SavedView.objects.filter(pk__in=views).delete()
        forget_log_entries(SavedView, views)  # people name a view as they like
        asked = (AuditAction.EXPORT, AuditAction.ASK_ACTION)
        AuditEntry.objects.filter(action__in=asked, changes__query__1__icontains="q=").update(changes={})
