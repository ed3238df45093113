"""All tables of personal data, the order in which an erasure goes through the apps, and the kinds of retention."""

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import Model

import campaigns.personal_data
import campaigns.retention
import knowledgebase.personal_data
import telephony.personal_data
import telephony.retention
import tickets.people
import tickets.personal_data
import tickets.retention
import webhooks.personal_data
from callcentre import models
from callcentre.core import erasures, retention
from callcentre.core.audit import AuditEntry, AuditLog
from callcentre.core.deletions import personal_data_deleted
from callcentre.core.person_exports import forget_exports
from callcentre.core.personal_data import SETTINGS, STAFF, WORK, Data, Nothing, register, register_holds
from callcentre.lists.models import DefaultView, ListAction, ListExport, SavedView
from callcentre.overview.models import Alarm, AlarmMail
from callcentre.signin import models as signin
from reports import models as reports
from reports.retention import make_final

_FLOOR: dict[type[Model], Data | Nothing] = {
    AuditEntry: Data("changes object_name"),
    AuditLog: Nothing("a view over histories, which have entries of their own"),
    models.IdempotencyRecord: Nothing("encrypted answers, found only by their key and deleted after a day"),
    models.Deletion: Nothing("kind, id and counts; the person is encrypted until the erasure is over"),
    models.PersonExport: Nothing("the person is encrypted; an erasure removes all files"),
    models.LegalHold: Nothing("kind and id"),
    LogEntry: Nothing("without names: docs/decisions/0022"),
    # At the end of an erasure, all files of lists and all words of searches go.
    ListExport: Data("query"),
    ListAction: Data("query form message"),
    SavedView: Data("name query"),
    **dict.fromkeys((models.Retention, Group, Permission, ContentType, Alarm), SETTINGS),
    **dict.fromkeys((Session, DefaultView, AlarmMail), STAFF),
    **STAFF.of(models, "User ApiUser ApiUserChange Lockout"),
    **WORK.of(models, "FileRemoval FileStore Heartbeat"),
    **STAFF.of(signin, "UserSession SecondFactor RecoveryCode PasswordReset"),
    **STAFF.of(signin, "ProviderGroup ProviderIdentity ProviderSession"),
    **Nothing("figures of agents, queues and campaigns").of(reports, "Export Rollup RollupProgress"),
    **STAFF.of(reports, "ExportMail"),
    **SETTINGS.of(reports, "Schedule ScheduleChange"),
}


def register_all() -> None:
    for app in (campaigns, knowledgebase, telephony, tickets, webhooks):
        register(app.personal_data.TABLE)
    register(_FLOOR)
    register_holds(tickets.people.on_hold)
    # The calls come last: one of them may still be going on.
    erasures.register_removals(
        campaigns.personal_data.remove_person,
        tickets.personal_data.remove_person,
        telephony.personal_data.remove_person,
    )
    for app in (telephony, tickets, campaigns):
        app.retention.register_kinds()
    retention.register_finaliser(make_final)
    personal_data_deleted.connect(forget_exports, dispatch_uid="callcentre.personal_data")
