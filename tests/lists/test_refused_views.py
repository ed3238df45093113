"""Saved views whose filters the list does not have, or no longer has."""

from typing import Any

import pytest
from django.contrib import admin
from django.db.models import Model

from callcentre.admin.list_views import ListViews
from callcentre.lists.models import DefaultView, SavedView
from callcentre.models import User
from tests.admin_pages import list_of
from tests.backoffice import superuser

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

LISTS = [model for model, shown in admin.site._registry.items() if isinstance(shown, ListViews)]
each_list = pytest.mark.parametrize("model", LISTS, ids=lambda model: model._meta.label)


@each_list
def test_a_view_with_an_unknown_filter_is_not_saved(model: type[Model]) -> None:
    client = superuser()

    answer = client.post(f"{list_of(model)}list-views/?foo=1", {"name": "Lamps", "is_default": "on"})

    assert "The list has no such filter, so the view was not saved." in answer.content.decode()
    assert not SavedView.objects.exists()


@each_list
def test_a_list_opens_whole_if_its_default_view_has_a_filter_that_is_gone(model: type[Model]) -> None:
    client: Any = superuser()
    user = User.objects.get(pk=client.session["_auth_user_id"])
    view = SavedView.objects.create(user=user, list_name=model._meta.label_lower, name="Old", query="foo=1")
    DefaultView.objects.create(user=user, list_name=view.list_name, view=view)
    client.force_login(user)

    answer = client.get(list_of(model), follow=True)

    assert [place for place, _status in answer.redirect_chain] == [
        f"{list_of(model)}?foo=1&saved={view.pk}",
        f"{list_of(model)}?saved=",
    ]
    assert answer.status_code == 200
    assert "no longer has a filter of the view" in answer.content.decode()
