"""The logs outlive the rows that they are about, so they keep nothing of customers and callers."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.postgres.fields import ArrayField
from django.db import models

from callcentre.admin.log_entries import NamelessLogMixin
from callcentre.core.audit import AUDITED, AuditAction, AuditEntry, record
from campaigns.models import DoNotCall
from tests.conftest import ACTOR
from tests.telephony.factories import RecordingFactory
from tests.tickets.factories import ChatFactory

pytestmark = pytest.mark.usefixtures("plain_static")
TEXTS = (models.CharField, models.TextField, models.JSONField, ArrayField)
# Names of columns that may hold what tells of a person.
PERSONAL = re.compile(r"name\Z|client|phone|number|e?mail|address|sender|recipient|source|login|comment|message|reason")
# Such columns that the log shows, by what they hold.
OPEN = {
    "names of configuration": {f"{model}.name" for model in (
        "auth.Group", "telephony.AgentGroup", "telephony.Pause", "telephony.Queue", "telephony.TransferShortcut",
        "telephony.TopicGroup", "telephony.Topic", "telephony.TopicField", "telephony.EvaluationCriterion",
        "tickets.CustomField", "tickets.TicketStatus", "tickets.TicketSubstatus", "tickets.TicketCategory",
        "tickets.TicketQueue", "tickets.CannedReply", "knowledgebase.Catalog", "knowledgebase.Category",
        "campaigns.CampaignGroup", "campaigns.Campaign", "campaigns.CampaignField", "campaigns.DictionaryStatus",
        "campaigns.RecordStatus", "campaigns.LegalHours", "overview.Alarm", "telephony.Menu", "telephony.ScreenPop",
        "telephony.Skill", "signin.ProviderGroup", "tickets.TicketType", "tickets.Rule", "tickets.Macro",
        "tickets.ServiceLevel", "tickets.BusinessCalendar", "tickets.ClosedDay", "tickets.Team",
    )},
    "colleagues": {
        "callcentre.User.username", "callcentre.User.first_name", "callcentre.User.last_name", "callcentre.User.email",
        "telephony.Agent.login", "telephony.Agent.name", "telephony.Agent.surname", "telephony.Agent.email",
        "telephony.Agent.number", "tickets.CustomerNote.author_name", "overview.Alarm.recipients",
    },
    "organisations": {"tickets.Company.name"},
    "our own numbers and addresses": {
        "telephony.Queue.number", "telephony.Queue.overflow_number", "telephony.TransferShortcut.number",
        "telephony.Menu.number", "telephony.Menu.end_number", "telephony.MenuEntry.number",
        "tickets.TicketQueue.address", "tickets.TicketQueue.sender_name",
    },
    "senders of wrong log-ins": {"callcentre.Lockout.source"},
    "laws": {"campaigns.LegalHours.source"},
    "kinds of notices": {"tickets.AgentPreferences.by_mail"},
    "labels of models": {"lists.SavedView.list_name"},
    "names that the deletion of a person blanks if the view searches": {"lists.SavedView.name"},
}  # fmt: skip


def test_each_column_that_may_tell_of_a_customer_is_masked():
    shown = {
        f"{each.model._meta.label}.{field.name}"
        for each in AUDITED.values()
        for field in each.model._meta.concrete_fields
        if isinstance(field, TEXTS) and not field.choices and PERSONAL.search(field.name)
        if field.column not in (*each.secret, *each.ignored)
    }

    assert shown == set().union(*OPEN.values())


@pytest.mark.django_db
def test_a_removed_number_is_in_no_log(admin_client):
    form = {"phone_number": "+48 22 555 98 76", "reason": "Anna asked", "since_0": "2026-01-01", "since_1": "08:00"}
    admin_client.post("/admin/campaigns/donotcall/add/", form)
    entry = DoNotCall.objects.get()

    admin_client.post(f"/admin/campaigns/donotcall/{entry.pk}/delete/", {"post": "yes"})

    logged = AuditEntry.objects.filter(model="campaigns.donotcall", object_id=entry.pk).order_by("id")
    assert [(each.action, each.actor_name, each.object_name) for each in logged] == [
        ("create", "admin", ""),
        ("delete", "admin", ""),
    ]
    assert LogEntry.objects.count() == 2
    assert not DoNotCall.objects.exists()
    for row in (*logged.values(), *LogEntry.objects.values()):
        assert not re.search("555|Anna", str(row))


@pytest.mark.django_db
def test_a_masked_change_says_that_the_column_changed():
    chat = ChatFactory(client_name="Anna")
    chat.client_name = "Ewa"
    chat.save()

    assert AuditEntry.objects.latest("id").changes == {"client_name": [None, "•••"]}


@pytest.mark.django_db
def test_a_row_that_may_be_named_after_a_customer_is_named_by_the_list_only(admin_client):
    recording = RecordingFactory(ready=True)
    record(ACTOR, AuditAction.HEAR, recording)

    assert AuditEntry.objects.get(action="hear").object_name == ""
    assert str(recording) in admin_client.get("/admin/callcentre/auditlog/?action=hear").content.decode()


def test_every_page_of_the_admin_logs_without_names():
    pages: dict[Any, Any] = admin.site._registry

    assert [model for model, page in pages.items() if not isinstance(page, NamelessLogMixin)] == []
