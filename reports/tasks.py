from celery import shared_task
from django.utils import timezone

from callcentre.core.enqueue import enqueue
from callcentre.core.exporting.jobs import remove_outdated_files
from callcentre.core.sweeps import going_on
from reports import comparison, exporting, rollups
from reports.exporting import outbox
from reports.models import Export, Schedule
from reports.verbs.exports import run_schedule


@shared_task(name="reports.refresh")
def refresh() -> None:
    """Bring the rollups up to date, unless another worker does so already."""
    rollups.bring_up_to_date(timezone.now())


@shared_task(name="reports.compare_rollups")
def compare_rollups() -> None:
    """Compare a sample of the rollups with the ledgers. Wrong ones are summed anew."""
    comparison.compare_sample(timezone.now())


@shared_task(name="reports.build_exports")
def build_exports() -> None:
    """Build the next export, unless other workers build: one a task, as each may take long."""
    if exporting.build_next():
        enqueue("reports.build_exports")


@shared_task(name="reports.prune_exports")
def prune_exports() -> None:
    remove_outdated_files(Export)


@shared_task(name="reports.run_schedules")
def run_schedules() -> None:
    """Ask for the exports whose hour has come."""
    now = timezone.now()
    for schedule in Schedule.objects.due(now):
        with going_on("a scheduled report could not be asked for", schedule=schedule.pk):
            run_schedule(schedule, now)


@shared_task(name="reports.mail_export")
def mail_export(pk: int) -> None:
    outbox.send(pk)
