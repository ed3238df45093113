"""Pages that every model of the admin has."""

import pytest
from django.contrib import admin
from django.test import RequestFactory
from django.urls import reverse

from callcentre.models import User
from tests.backoffice import superuser

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)


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
