import contextlib

import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from callcentre.core.free_space import is_full
from callcentre.core.personal_data import without_held
from campaigns.dialling import outcomes, previews
from campaigns.importing.import_run import Interrupted, run
from campaigns.models import Attempt, Campaign, RecordImport, TrunkFailure
from campaigns.verbs.imports import remove_import_files
from campaigns.verbs.records import fill_zones

PRUNED_AT_ONCE = 10_000


@shared_task(name="campaigns.import_records")
def import_records(pk: int) -> None:
    if is_full():  # the sweep starts the import once there is space
        return
    request_id = RecordImport.objects.filter(pk=pk).values_list("request_id", flat=True).first()
    if request_id:  # the sweep's own id, if the sweep has started this task
        structlog.contextvars.bind_contextvars(request_id=request_id)
    with contextlib.suppress(Interrupted):  # the sweep starts the import again
        run(pk)


@shared_task(name="campaigns.fill_zones")
def fill_zones_of_campaign(pk: int) -> None:
    """Compute the zones of the records anew. The dialler mends records that this task has not reached."""
    for campaign in Campaign.objects.filter(pk=pk):
        fill_zones(campaign)


@shared_task(name="campaigns.prune_attempts")
def prune_attempts() -> None:
    """Delete attempts past their retention, in batches, and failures of the trunk of the same age."""
    before = timezone.now() - settings.ATTEMPT_RETENTION
    TrunkFailure.objects.filter(ended_at__lt=before).delete()
    old = Attempt.objects.filter(dialled_at__lt=before).order_by("dialled_at")
    # Asked anew each time: a hold may have begun.
    while ids := list(without_held(old).values_list("pk", flat=True)[:PRUNED_AT_ONCE]):
        Attempt.objects.filter(pk__in=ids).delete()


@shared_task(name="campaigns.sweep_calls")
def sweep_calls() -> None:
    """Settle calls without a result and end previews that are over, while no dialler does it."""
    now = timezone.now()
    outcomes.settle_due(now)
    previews.sweep(now)


@shared_task(name="campaigns.prune_imports")
def prune_imports() -> None:
    """Delete the files of old imports; their counts stay."""
    for record_import in RecordImport.objects.with_outdated_files():
        remove_import_files(record_import)
