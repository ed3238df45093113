"""Pages that every model of the admin has."""

from typing import Any

import pytest
from django.contrib import admin
from django.test import RequestFactory
from django.urls import reverse

from callcentre.crypto import EncryptedTextField
from callcentre.models import User
from tests.backoffice import page_of, staff, superuser
from tests.tickets.factories import MarketplaceFactory, TicketQueueFactory
from tests.webhooks.factories import WebhookFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
# A row of each model that keeps something encrypted.
ENCRYPTED: dict[str, Any] = {
    "Webhook": WebhookFactory,
    "Marketplace": MarketplaceFactory,
    "TicketQueue": TicketQueueFactory,
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_the_page_for_a_new_one_opens_where_there_is_one(model):
    client = superuser()
    request = RequestFactory().get("/")
    request.user = User.objects.get(is_superuser=True)
    path = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")

    status = client.get(path).status_code

    # Or leads to where such things are made.
    assert status in ((200, 302) if admin.site._registry[model].has_add_permission(request) else (403,))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_what_is_not_there_is_no_failure(model):
    client = superuser()
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    ids = ("nonsense", "9" * 30, "00000000-0000-0000-0000-000000000000")

    answers = [client.get(reverse(f"{name}_{page}", args=[pk])) for page in ("change", "delete") for pk in ids]

    # Led to the overview, which says so; or there is nothing of the kind to be done.
    assert {answer.status_code for answer in answers} <= {302, 403, 404}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_no_cache_keeps_a_page_of_the_admin(model):
    response = superuser().get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))

    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize("access", ["superuser", "view", "change"])
@pytest.mark.parametrize("model", ENCRYPTED)
def test_what_is_kept_encrypted_is_on_no_page(model, access):
    row = ENCRYPTED[model]()
    names = [field.name for field in row._meta.fields if isinstance(field, EncryptedTextField)]
    for name in names:
        setattr(row, name, f"whsec_of-{name}")
    row.save()
    right = f"_{row._meta.model_name}"
    client = superuser() if access == "superuser" else staff(*{f"view{right}", f"{access}{right}"})

    changelist = reverse(f"admin:{row._meta.app_label}{right}_changelist")
    texts = "".join(client.page(path) for path in (changelist, page_of(row), page_of(row, "history")))

    assert names
    assert "whsec_of-" not in texts


def test_every_model_that_keeps_something_encrypted_is_looked_at():
    models = {model for model in MODELS for field in model._meta.fields if isinstance(field, EncryptedTextField)}

    assert {model.__name__ for model in models} == set(ENCRYPTED)
