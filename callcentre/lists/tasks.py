from celery import shared_task

from callcentre.core.enqueue import enqueue
from callcentre.core.exporting.jobs import remove_outdated_files
from callcentre.lists import actions, exports
from callcentre.lists.models import ListExport


@shared_task(name="lists.build_exports")
def build_exports() -> None:
    """Build the next export of a list, unless other workers build: one a task, as each may take long."""
    if exports.build_next():
        enqueue("lists.build_exports")


@shared_task(name="lists.prune_exports")
def prune_exports() -> None:
    remove_outdated_files(ListExport)


@shared_task(name="lists.run_action")
def run_action(pk: int) -> None:
    """Apply an action of a list to rows that match, for some seconds."""
    actions.run(pk)
