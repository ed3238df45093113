"""The audit log: each change of what people edit, with the person, the time and the address."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db import connection, transaction
from django.db.models import DO_NOTHING, BinaryField
from django.test import RequestFactory
from django.utils import timezone

from callcentre.core import audit_schema
from callcentre.core.actor import Actor
from callcentre.core.audit import AUDITED, AuditEntry, AuditLog, histories, owner_of, record
from callcentre.core.sender import acting
from callcentre.models import ApiUser, Lockout, User
from callcentre.rate_limits import count_failure
from callcentre.tasks import prune_audit
from campaigns.models import DoNotCall
from campaigns.verbs.records import remove_record
from knowledgebase.verbs.articles import create_article, delete_article
from telephony.models import AgentGroup, Pause
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ACTOR
from tests.knowledgebase.factories import ArticleFactory, CategoryFactory
from tests.telephony.factories import AgentFactory, QueueFactory, TransferShortcutFactory
from webhooks.retention import purge
from webhooks.verbs.webhooks import create_webhook, remove_webhook, show_secret

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
# Models that people add, change or delete in the admin and that need no trigger.
WITHOUT_TRIGGER = {
    "campaigns.RecordImport": "names the person itself; the upload is logged",
    "reports.Export": "names the person itself; asking for it is logged",
    "telephony.Recording": "deleted with a reason, as a deletion; hearing it is logged",
    "tickets.ReceivedMail": "written by the service; what people do with a mail is logged",
    "tickets.StoredFile": "deleted with a reason, as a deletion",
}


def entries_of(row: Any) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(model=row._meta.label_lower, object_id=str(row.pk)).order_by("id"))


def test_log_names_the_person_and_the_values_of_each_change():
    pause = Pause.objects.create(name="Lunch")
    pause.save()
    pause.name = "Break"
    with acting(ACTOR, None), transaction.atomic():
        pause.save()
    pk = pause.pk
    pause.delete()
    created, edited, deleted = AuditEntry.objects.filter(object_id=str(pk)).order_by("id")
    assert (created.action, created.actor_kind, created.object_name) == ("create", "system", "Lunch")
    assert (edited.action, edited.actor_name, edited.actor_id) == ("edit", ACTOR.name, ACTOR.id)
    assert edited.changes == {"name": ["Lunch", "Break"]}
    # The sender of one statement is not that of the next.
    assert (deleted.action, deleted.actor_name, deleted.object_name) == ("delete", "system", "Break")
    assert deleted.changes["name"] == ["Break", None]


def test_secrets_are_named_and_not_shown_and_a_part_is_logged_with_its_owner():
    user = User.objects.create_user("anna", password="a long password")
    before = len(entries_of(user))
    user.set_password("another password")
    user.save()
    group = Group.objects.create(name="Night shift")
    user.groups.add(group)
    secret, part = entries_of(user)[before:]
    assert secret.changes == {"password": [None, "•••"]}
    assert (part.action, part.part) == ("edit", "callcentre.user_groups")
    assert part.changes == {"group_id": [None, group.pk]}


def test_bulk_work_makes_no_entry_for_each_row():
    with acting(Actor("import", 5, "numbers.csv"), None, is_bulk=True):
        DoNotCall.objects.create(number="+48221234567", phone_number="+48221234567")
    assert not AuditEntry.objects.filter(model="campaigns.donotcall").exists()


def test_change_by_api_or_page_names_the_sender_and_the_address(api, admin_client):
    campaign = CampaignFactory()
    api.put(f"/api/outbounds/{campaign.code}", {"name": "Spring"}, REMOTE_ADDR="192.0.2.7")
    admin_client.post("/admin/telephony/agentgroup/add/", {"name": "North"}, REMOTE_ADDR="2001:db8::7")
    entry = entries_of(campaign)[-1]
    assert (entry.actor_kind, entry.actor_address, entry.action) == ("api_user", "192.0.2.7", "edit")
    assert entry.changes["name"][1] == "Spring"
    entry = entries_of(AgentGroup.objects.get(name="North"))[0]
    assert (entry.actor_kind, entry.actor_name, entry.actor_address) == ("user", "admin", "2001:db8::7")


def test_log_shows_entries_and_histories_together(admin_client):
    user, _secret = ApiUser.create(ACTOR, "shop")
    Pause.objects.create(name="Lunch")
    labels = AuditLog.objects.exclude(model="callcentre.user").values_list("model", "action")
    assert sorted(labels) == [("callcentre.apiuser", "create"), ("telephony.pause", "create")]
    entry = AuditLog.objects.of("callcentre.apiuser", str(user.pk)).get()
    assert entry.source == "callcentre.apiuserchange"
    assert "tester" in admin_client.get(f"/admin/callcentre/auditlog/{entry.pk}/change/").content.decode()


def test_everything_that_people_edit_is_logged():
    """Each model that a page of the admin can add, change or delete has a trigger or a history of its own."""
    own = {*histories(), *(each.related_model for model in histories() for each in model._meta.fields)}
    edited = {
        model
        for page_model, page in admin.site._registry.items()
        if _can_be_edited(page)
        for model in (page_model, *(inline.model for inline in page.inlines))
    }
    open_models = {model._meta.label for model in edited if model._meta.db_table not in AUDITED and model not in own}
    assert open_models == set(WITHOUT_TRIGGER)


def _can_be_edited(model_admin: Any) -> bool:
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_active=True)
    request.resolver_match = None
    return bool(
        model_admin.has_add_permission(request)
        or model_admin.has_change_permission(request)
        or model_admin.has_delete_permission(request)
    )


def test_schema_is_as_the_models_declare():
    with connection.execute_wrapper(_refuse_changes):
        audit_schema.install()


def _refuse_changes(execute: Any, sql: str, *rest: Any) -> Any:
    assert not sql.lstrip().startswith(("CREATE", "DROP", "COMMENT"))
    return execute(sql, *rest)


def test_list_shows_the_newest_first_with_the_names_of_fields(admin_client):
    pause = Pause.objects.create(name="Lunch")
    pause.name = "Break"
    pause.save()
    page = admin_client.get("/admin/callcentre/auditlog/").content.decode()
    assert "Pause Break" in page
    assert page.index("name: Lunch → Break") < page.index("Pause Lunch")


@pytest.mark.parametrize(
    ("parameters", "count"),
    [
        ("kind=telephony.pause", 1),
        ("kind=telephony.agentgroup", 0),
        ("action=delete", 0),
        ("q=Lunch", 1),
        ("q=Dinner", 0),
        ("q=192.0.2.7", 1),
        ("q=192.0.2.8", 0),
        ("object=telephony.pause:0", 0),
        ("object=tickets.ticket:nonsense", 0),
    ],
)
def test_list_is_filtered_and_searched(admin_client, parameters, count):
    with acting(ACTOR, "192.0.2.7"):
        Pause.objects.create(name="Lunch")
    answer = admin_client.get(f"/admin/callcentre/auditlog/?{parameters}")
    assert len(answer.context["cl"].result_list) == count


@pytest.mark.parametrize("pk", ["nonsense", "telephony.pause-x", "a.b-99999999999999999999", "-1"])
def test_entry_that_does_not_exist(admin_client, pk):
    assert admin_client.get(f"/admin/callcentre/auditlog/{pk}/change/").status_code == 302


def test_log_in_and_refused_log_in_are_logged(client):
    User.objects.create_user("anna", password="right", is_staff=True)
    for password in ("wrong", "wrong", "right"):
        client.post("/admin/login/", {"username": "anna", "password": password}, REMOTE_ADDR="192.0.2.7")
    client.post("/admin/logout/")
    entries = AuditEntry.objects.filter(action__startswith="log_").order_by("id")
    assert list(entries.values_list("action", "object_name", "actor_address")) == [
        ("log_in_refused", "anna", "192.0.2.7"),
        ("log_in", "anna", "192.0.2.7"),
        ("log_out", "anna", "127.0.0.1"),
    ]


def test_changes_name_the_rows_that_they_refer_to(admin_client):
    queue, user = QueueFactory(name="Sales"), User.objects.create_user("anna")
    group = Group.objects.create(name="Night shift")
    user.groups.add(group)
    user.user_permissions.add(Permission.objects.get(codename="view_campaign"))
    user.scope_call_queues = [queue.pk, 999_999]
    user.save()

    page = admin_client.get("/admin/callcentre/auditlog/").content.decode()

    assert "group: Night shift" in page
    assert "Campaigns – Campaigns: view" in page
    assert "Sales, 999999" in page
    entry = AuditLog.objects.filter(part="callcentre.user_groups").get()
    assert "Night shift" in admin_client.get(f"/admin/callcentre/auditlog/{entry.pk}/change/").content.decode()
    group.delete()
    assert f"group: {entry.changes['group_id'][1]}" in admin_client.get("/admin/callcentre/auditlog/").content.decode()


def test_a_password_typed_as_a_login_is_not_logged(client):
    client.post("/admin/login/", {"username": "MySecretPw-99", "password": "anna"}, REMOTE_ADDR="192.0.2.7")

    entry = AuditEntry.objects.get(action="log_in_refused")
    assert (entry.object_name, entry.actor_address) == ("", "192.0.2.7")
    assert "MySecretPw-99" not in str(AuditEntry.objects.values())


@pytest.mark.parametrize("realm", Lockout.Realm.values)
def test_a_password_typed_as_a_login_is_not_logged_when_it_is_locked_out(realm, admin_client):
    for _attempt in range(settings.LOGIN_FAILURES_PER_LOGIN):
        count_failure(realm, "MySecretPw-99", "192.0.2.7")

    Lockout.objects.get(login="MySecretPw-99")
    assert AuditEntry.objects.get(model="callcentre.lockout").changes["login"] == [None, "•••"]
    page = admin_client.get("/admin/callcentre/auditlog/").content.decode()
    assert ("Lockout 192.0.2.7" in page, "MySecretPw-99" in page) == (True, False)
    Lockout.objects.all().delete()
    assert "MySecretPw-99" not in str(AuditEntry.objects.values())


@pytest.mark.parametrize(
    ("realm", "create"),
    [("admin", lambda: User.objects.create_user("anna")), ("api", lambda: ApiUser.create(ACTOR, "anna")[0])],
)
def test_the_log_of_a_person_or_program_has_their_lockouts(realm, create):
    account = create()

    for _attempt in range(settings.LOGIN_FAILURES_PER_LOGIN):
        count_failure(realm, "anna", "192.0.2.7")

    entry = AuditEntry.objects.get(action="lock_out")
    assert (entry.model, entry.object_id, entry.object_name) == (
        account._meta.label_lower,
        str(account.pk),
        "anna",
    )
    assert (entry.actor_kind, entry.changes) == ("system", {"address": [None, "192.0.2.7"]})


def test_a_stronger_hash_of_the_same_password_is_no_edit(client, settings):
    names = ("MD5PasswordHasher", "ScryptPasswordHasher")
    weak, strong = (f"django.contrib.auth.hashers.{name}" for name in names)
    settings.PASSWORD_HASHERS = [weak]
    user = User.objects.create_user("anna", password="right", is_staff=True)
    before = len(entries_of(user))
    settings.PASSWORD_HASHERS = [strong, weak]

    client.post("/admin/login/", {"username": "anna", "password": "right"})

    assert User.objects.get().password.startswith("scrypt$")
    assert [entry.action for entry in entries_of(user)[before:]] == ["log_in"]


def test_contents_of_files_are_not_logged():
    empty = TransferShortcutFactory(icon=b"")
    shortcut = TransferShortcutFactory(icon=b"\x89PNG")
    shortcut.icon = b"\x89PNG2"
    shortcut.save()

    files = [field for each in AUDITED.values() for field in each.model._meta.fields if isinstance(field, BinaryField)]
    assert [str(field) for field in files] == ["telephony.TransferShortcut.icon"]
    assert [entry.changes["icon"] for entry in entries_of(shortcut)] == [[None, "•••"]] * 2
    assert "icon" not in entries_of(empty)[0].changes


def test_old_entries_are_pruned():
    Pause.objects.create(name="Lunch")
    AuditEntry.objects.update(at=timezone.now() - settings.AUDIT_RETENTION - timedelta(days=1))
    Pause.objects.create(name="Training")
    prune_audit()
    assert list(AuditEntry.objects.values_list("object_name", flat=True)) == ["Training"]


def test_agents_are_named_with_login_and_surname():
    agent = AgentFactory(login="anna", name="Anna", surname="Kowalska")
    nameless = AgentFactory(login="b7", name="", surname="")
    record(ACTOR, "pause_agent", agent)
    names = [[entry.object_name for entry in entries_of(each)] for each in (agent, nameless)]
    assert names == [["anna (Anna Kowalska)"] * 2, ["b7"]]


def test_each_history_outlives_its_object_or_leaves_its_count():
    """Histories that tell of customers go with their objects, as docs/decisions/0022 says."""
    outliving = {history.__name__ for history in histories() if owner_of(history).remote_field.on_delete is DO_NOTHING}
    going = {history.__name__ for history in histories()} - outliving
    assert outliving == {"ApiUserChange", "ArticleChange", "DiallingSwitch", "ScheduleChange", "WebhookChange"}
    assert going == {"CustomerChange", "RecordChange", "TicketChange", "Transfer"}


def test_the_trail_of_a_removed_webhook_and_article_stays_and_names_them(admin_client):
    url = "https://[2606:4700::1111]/hook"
    webhook = create_webhook(ACTOR, subscription_url=url, actions=["TICKET_CREATED"])
    show_secret(webhook, ACTOR)
    webhook_pk = webhook.pk
    remove_webhook(webhook, ACTOR)
    purge(webhook_pk)
    article, _cleaned = create_article(ACTOR, category_id=CategoryFactory().pk, title="Returns", content="<p>x</p>")
    article_pk = article.pk
    delete_article(article, ACTOR)

    for label, pk, name, actions in (
        ("webhooks.webhook", webhook_pk, url, ["create", "delete", "show_secret"]),
        ("knowledgebase.article", article_pk, "Returns", ["create", "delete"]),
    ):
        answer = admin_client.get(f"/admin/callcentre/auditlog/?object={label}:{pk}")
        rows = answer.context["cl"].result_list
        assert sorted(row.action for row in rows) == actions
        assert {row.object_name for row in rows} == {name}
        assert "/change/" not in "".join(map(answer.context["cl"].model_admin.about, rows))
    for page in ("webhooks/webhookchange", "knowledgebase/articlechange"):
        assert "deleted (" in admin_client.get(f"/admin/{page}/").content.decode()


def test_the_deletion_of_a_record_leaves_one_entry_with_counts():
    record_ = RecordFactory()
    record_.history.create(action="edit", actor_kind="user", actor_name="anna")
    pk = record_.pk
    remove_record(record_, ACTOR)
    [entry] = AuditLog.objects.of("campaigns.record", str(pk))
    assert (entry.action, entry.changes) == ("delete", {"campaigns.record": [1, 0], "campaigns.recordchange": [1, 0]})


def test_history_of_an_object_leads_to_its_entries_and_names_it_without_any(admin_client):
    campaign, group = CampaignFactory(name="Spring"), AgentGroup.objects.create(name="North")
    CampaignFactory(name="Autumn")
    answer = admin_client.get(f"/admin/campaigns/campaign/{campaign.pk}/history/", follow=True)
    assert {entry.object_id for entry in answer.context["cl"].result_list} == {str(campaign.pk)}
    AuditEntry.objects.all().delete()
    page = admin_client.get(f"/admin/telephony/agentgroup/{group.pk}/history/", follow=True)
    assert page.context["subtitle"] == "Agent group North"
    assert "Agent group North" in page.content.decode()


def test_history_of_an_object_without_the_right_to_the_log_is_django_s_own(client):
    person = User.objects.create_user("anna", is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="view_campaign"))
    client.force_login(person)
    answer = client.get(f"/admin/campaigns/campaign/{CampaignFactory().pk}/history/")
    assert answer.status_code == 200
    assert client.get("/admin/callcentre/auditlog/").status_code == 403


def test_action_has_the_words_of_its_history(admin_client):
    article = ArticleFactory()
    article.changes.create(action="publish", number=1, actor_kind="user", actor_name="anna")
    page = admin_client.get(f"/admin/callcentre/auditlog/?object=knowledgebase.article:{article.pk}").content.decode()
    assert "published" in page
