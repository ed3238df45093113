"""A setting without a queue or campaign holds for all of them. A person with some of them only reads it."""

from typing import Any

import pytest
from django.contrib import admin
from django.db.models import Model

from callcentre.admin.base import ReadOnlyAdmin
from callcentre.core.scope import DIMENSIONS, lookups_of, model_of
from callcentre.overview.models import Alarm
from campaigns.models import DoNotCall
from telephony.models import Agent, ScreenPop, TransferShortcut
from tests.campaigns.factories import CampaignFactory
from tests.rights.people import client_of, person
from tests.telephony.factories import EvaluationCriterionFactory, QueueFactory
from tests.tickets.factories import CannedReplyFactory, TicketQueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("collected_static")]

# Why rows without a queue, campaign or group may be edited by a person whose scope narrows them.
EDITABLE = {
    Agent: "an agent in no group is in every scope",
    Alarm: "an alarm has a queue or a campaign",
    ScreenPop: "a screen pop has a queue or a campaign",
    TransferShortcut: "a shortcut without a queue has a number",
}


def do_not_call(campaign: Any) -> DoNotCall:
    return DoNotCall.objects.create(number="48221234567", phone_number="+48221234567", campaign=campaign)


CASES = [
    ("campaigns/donotcall", do_not_call, "campaign", CampaignFactory),
    ("tickets/cannedreply", lambda queue: CannedReplyFactory(queue=queue), "queue", TicketQueueFactory),
    ("telephony/evaluationcriterion", lambda queue: EvaluationCriterionFactory(queue=queue), "queue", QueueFactory),
]
each_setting = pytest.mark.parametrize(
    ("path", "make", "name", "owner_factory"), CASES, ids=[case[0] for case in CASES]
)
INPUT = {
    "campaigns/donotcall": {"phone_number": "+48221234568", "is_prefix": "on"},
    "tickets/cannedreply": {"name": "Hours", "body": "<p>We are open.</p>"},
    "telephony/evaluationcriterion": {"name": "Greeting", "description": "The agent greets.", "order": "1"},
}


def scope_of(owner: Model) -> dict[str, list[int]]:
    return {column: [owner.pk] for column in DIMENSIONS if isinstance(owner, model_of(column))}


@each_setting
def test_a_person_with_a_scope_only_reads_a_setting_for_all(path, make, name, owner_factory):
    owner = owner_factory()
    for_all, own = make(None), make(owner)
    client = client_of(person("Administrator", **scope_of(owner)))

    assert client.get(f"/admin/{path}/{for_all.pk}/change/").status_code == 200
    refused = [client.post(f"/admin/{path}/{for_all.pk}/{page}/", {"post": "yes"}) for page in ("change", "delete")]

    assert [response.status_code for response in refused] == [403, 403]
    assert type(for_all).objects.filter(pk=for_all.pk).exists()
    rights = [
        client_of(person("Administrator", **columns)).values(f"/admin/{path}/{own.pk}/change/")
        for columns in (scope_of(owner), {})
    ]
    names = ("has_change_permission", "has_delete_permission")
    assert [rights[0][each] for each in names] == [rights[1][each] for each in names]


@each_setting
def test_a_person_with_a_scope_adds_no_setting_for_all(path, make, name, owner_factory):
    owner = owner_factory()
    client = client_of(person("Administrator", **scope_of(owner)))
    model = type(make(owner))
    count = model.objects.count()

    page = client.submit(f"/admin/{path}/add/", **INPUT[path], expected=200)

    assert list(page.context_data["adminform"].form.errors) == [name]
    assert model.objects.count() == count
    client.submit(f"/admin/{path}/add/", **INPUT[path], **{name: owner.pk})
    assert model.objects.count() == count + 1


@each_setting
def test_a_scope_of_other_kinds_narrows_no_setting(path, make, name, owner_factory):
    for_all = make(None)
    column = next(column for column in DIMENSIONS if column not in lookups_of(type(for_all)))
    client = client_of(person("Administrator", **{column: [1]}))

    client.submit(f"/admin/{path}/add/", **INPUT[path])

    assert type(for_all).objects.count() == 2


def test_each_setting_for_all_says_so():
    """A page that edits rows whose queue, campaign or group may be empty says whether they hold for all then."""
    silent = set()
    for model, page in admin.site._registry.items():
        columns = set(lookups_of(model).values())
        optional = {field.name for field in model._meta.concrete_fields if field.attname in columns and field.null}
        optional -= set(DIMENSIONS)
        if optional and getattr(page, "empty_for_all", "") not in optional and not isinstance(page, ReadOnlyAdmin):
            silent.add(model)

    assert silent == set(EDITABLE)
