from celery import shared_task
from django.utils import timezone

from reports import rollup, settling


@shared_task(name="reports.refresh")
def refresh() -> None:
    """Bring the rollups up to date; another worker that does so already will do."""
    with rollup.alone() as is_alone:
        if is_alone:
            while rollup.refresh():
                pass
            settling.settle_all(timezone.now())
