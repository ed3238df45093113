"""What workers write into histories for a person: with the address of the request that asked."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.utils import timezone

from callcentre.core import deletions
from callcentre.core.audit import AuditLog
from callcentre.core.deletions import Deletion
from callcentre.core.sender import acting
from callcentre.lists import actions, exports
from callcentre.lists.actions import ask_action
from callcentre.lists.exports import ask_export
from callcentre.models import User
from campaigns.importing import import_run
from campaigns.verbs.imports import queue_import, upload_import
from reports import exporting as builds
from reports.verbs.exports import ask_export as ask_report
from tests.callcentre.factories import UserFactory
from tests.campaigns.factories import CampaignFactory
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import MessageFactory, StoredFileFactory

pytestmark = pytest.mark.usefixtures("committed_db")
ADDRESS = "192.0.2.7"
# A piece of work: it is asked for when it is called, and a worker does it when the result is called.
Work = Callable[[User], Callable[[], object]]


def action(user: User) -> Callable[[], object]:
    AgentFactory.create_batch(2, is_active=True)
    title, form = "Deactivate", "apply=1"
    job = ask_action(user, "telephony.agent", query="", action="deactivate", action_title=title, form=form)
    return lambda: actions.run(job.pk)


def export(user: User) -> Callable[[], object]:
    ask_export(user, "telephony.agent", "Agents", "", "csv")
    return exports.build_next


def report(user: User) -> Callable[[], object]:
    now = timezone.now()
    ask_report(user.actor, now - timedelta(days=1), now, aggregation="day", columns=["calls"])
    return builds.build_next


def import_of_records(user: User) -> Callable[[], object]:
    file = ContentFile(b"phone\n225550101\n", "records.csv")
    description = {"encoding": "utf-8", "delimiter": ",", "columns": {"0": "phone_number"}}
    given = upload_import(CampaignFactory(), user.actor, file, **description)
    queue_import(given, user.actor)
    return lambda: import_run.run(given.pk)


def deletion(user: User) -> Callable[[], object]:
    stored = StoredFileFactory(message=MessageFactory())
    asked = Deletion.ask(user.actor, "file", stored, "on request")
    return lambda: deletions.run(asked.pk)


@pytest.mark.parametrize("work", [action, export, report, import_of_records, deletion])
def test_entries_of_a_worker_have_the_address_of_the_request(work):
    user = UserFactory(admin=True)
    with acting(user.actor, ADDRESS):
        do = work(user)
        before = set(AuditLog.objects.values_list("id", flat=True))
    do()

    written = AuditLog.objects.exclude(id__in=before)
    assert {entry.actor_address for entry in written} <= {ADDRESS}
    assert written.exists() is (work in (action, import_of_records, deletion))
