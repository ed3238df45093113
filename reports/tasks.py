from celery import shared_task
from django.utils import timezone

from callcentre.wake import wake
from reports import rollup, settling
from reports.exporting import running
from reports.models import Export


@shared_task(name="reports.refresh")
def refresh() -> None:
    """Bring the rollups up to date; another worker that does so already will do."""
    with rollup.alone() as is_alone:
        if is_alone:
            while rollup.refresh():
                pass
            settling.settle_all(timezone.now())


@shared_task(name="reports.build_exports")
def build_exports() -> None:
    """Build the export whose turn it is: one a task, as each may take long. Whoever builds already will do."""
    if running.build_next():
        wake("reports.build_exports")


@shared_task(name="reports.prune_exports")
def prune_exports() -> None:
    """Remove the files of old exports."""
    for export in Export.objects.with_outdated_files():
        export.remove_file()
