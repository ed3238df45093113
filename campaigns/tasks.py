import contextlib

from celery import shared_task

from campaigns.importing.running import Interrupted, run
from campaigns.models import RecordImport


@shared_task(name="campaigns.import_records")
def import_records(pk: int) -> None:
    with contextlib.suppress(Interrupted):  # the sweep starts it again
        run(pk)


@shared_task(name="campaigns.sweep_imports")
def sweep_imports() -> None:
    """Start imports whose message or worker was lost."""
    for record_import in RecordImport.objects.due():
        record_import.resume()


@shared_task(name="campaigns.prune_imports")
def prune_imports() -> None:
    """Remove the files of old imports; their counts stay."""
    for record_import in RecordImport.objects.with_outdated_files():
        record_import.remove_files()
