"""Hostile addresses: every list of the admin with every look-up, id and parameter. No answer may be a 500."""

from collections.abc import Iterable, Sequence
from itertools import chain, product
from operator import attrgetter
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote, urlencode

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db import models, transaction
from django.http import QueryDict
from django.test import RequestFactory
from django.urls import reverse
from django.utils.datastructures import MultiValueDict

from callcentre.models import User
from tests.admin_pages import addresses, kept_rows, list_of, path_of, routes, with_values
from tests.backoffice import BackOffice, superuser
from tickets.models import Ticket

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("plain_static"),
    pytest.mark.slow("opens every page with many values"),
    pytest.mark.walk("tickets.Ticket"),
]

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)

# Encoded as in an address.
HOSTILE = {
    "an expression": quote("(.*+["),
    "a huge number": "9" * 40,
    "more digits than Python reads": "9" * 5000,
    "a huge list": quote(",".join(map(str, range(3000)))),
    "half a surrogate pair": "%ED%A0%80",
    "no UTF-8": "%FF%FE",
    "nothing": "",
    "a negative number": "-1",
    "NUL, one layer below": quote("q=%00&p=%00&campaign__id__exact=%00"),
}
VALUES = tuple(HOSTILE.values())
# The parameters of every list besides its filters.
COMMON = ("q", "o", "p", "all", "e", "_facets", "_popup", "_to_field", "_changelist_filters")
# The last parts of routes that every model has, and that Django reads.
USUAL = ("/", "/add/", "/change/", "/delete/", "/history/")


@pytest.fixture(scope="module")
def rows(django_db_setup, django_db_blocker):
    with kept_rows(django_db_blocker) as found:
        yield found


@pytest.fixture
def client(rows):
    client = superuser()
    client.raise_request_exception = False
    return client


def none_fails(client: BackOffice, paths: Iterable[str]) -> None:
    for path in paths:
        with transaction.atomic():
            assert client.get(path).status_code < 500, path[:300]


def mixed(names: Sequence[str]) -> list[str]:
    """Return two queries in which each name has a hostile value, another one in each."""
    return [
        "&".join(f"{name}={VALUES[(place + first) % len(VALUES)]}" for place, name in enumerate(names))
        for first in (0, 4)
    ]


def request_for(path: str) -> Any:
    request: Any = RequestFactory().get(path)
    request.user = User.objects.filter(is_superuser=True)[0]
    request._messages = Mock()
    return request


def list_for(model: type[models.Model], query: str) -> Any:
    return admin.site._registry[model].get_changelist_instance(request_for(f"{list_of(model)}?{query}"))


def parameters_of(model: type[models.Model]) -> list[str]:
    """Return the names that the filters of a list take."""
    return [name for spec in list_for(model, "").filter_specs for name in spec.expected_parameters() if name]


# Lists


@each_model
def test_a_list_takes_any_value_of_any_filter(model, rows):
    for name, value in product((*parameters_of(model), "q", "p", "o"), VALUES):
        with transaction.atomic():
            try:
                found = list_for(model, f"{name}={value}")
            except IncorrectLookupParameters:
                continue
            assert len(list(found.result_list)) <= len(found.root_queryset), (name, value[:40])


@each_model
def test_the_page_of_a_list_takes_hostile_values_of_all_parameters(model, client):
    names = (*COMMON, *parameters_of(model))

    none_fails(client, [f"{list_of(model)}?{query}" for query in mixed(names)])
    none_fails(client, [f"{list_of(model)}?{'&'.join(f'{name}=1' for name in names for _ in range(300))}"])


@each_model
def test_nul_in_a_parameter_of_a_list_is_400(model, client):
    found = {client.get(f"{list_of(model)}?{name}=a%00b").status_code for name in (*COMMON, *parameters_of(model))}

    assert found == {400}


@each_model
def test_an_action_takes_no_id_that_no_row_can_have(model, client):
    actions = admin.site._registry[model].get_actions(request_for(list_of(model)))

    for action, value in product(actions, ("nonsense", "\0", "9" * 5000, "9" * 40, "-1", "")):
        with transaction.atomic():
            response = client.post(list_of(model), {"action": action, "_selected_action": [value], "index": "0"})
        assert response.status_code < 500, (action, value[:40])


# Pages of rows


@each_model
def test_a_page_takes_any_id(model, client):
    of_rows = [route for route in routes(model) if "<" in route]

    for id_ in ("nonsense", "9" * 40, "9" * 5000, "%ED%A0%80", "_00", "%00", "1%00"):
        none_fails(client, [with_values(route, {"": id_}) for route in of_rows])


@each_model
def test_the_form_of_a_new_row_takes_any_value_of_any_field(model, client):
    names = [field.name for field in model._meta.get_fields()]

    none_fails(client, [f"{list_of(model)}add/?{query}" for query in mixed(names)])


@pytest.fixture
def parameters_read(rows, client, monkeypatch):
    """Return the address of each page of our own that reads parameters -> their names."""
    names: set[str] = set()

    def watched(original):
        def read(self, name, *rest, **options):
            names.add(str(name))
            return original(self, name, *rest, **options)

        return read

    usual = {f"{path_of(model)}/<path:object_id>{end}" for model, end in product(MODELS, USUAL) if model != Ticket}
    usual |= {f"{path_of(model)}{end}" for model, end in product(MODELS, USUAL)}
    read: dict[str, set[str]] = {}
    with monkeypatch.context() as patch:
        patch.setattr(QueryDict, "__contains__", watched(dict.__contains__), raising=False)
        for method in ("__getitem__", "_getlist"):
            patch.setattr(QueryDict, method, watched(getattr(MultiValueDict, method)), raising=False)
        for address in addresses(rows, of=[route for route in routes() if route not in usual]):
            names.clear()
            client.get(address)
            read[address] = names - {*COMMON, "action", "_selected_action"}
    return {address: names for address, names in read.items() if names}


@pytest.mark.trial
def test_a_page_takes_any_value_of_its_parameters(parameters_read, client):
    assert {"app_label", "date_from", "with", "images", "target"} <= {*chain(*parameters_read.values())}

    for address, names in parameters_read.items():
        none_fails(client, [f"{address}?{query}" for query in mixed(sorted(names))])
        none_fails(client, [f"{address}?{name}={value}" for name, value in product(sorted(names), VALUES)])


@pytest.mark.trial
def test_an_autocomplete_takes_any_field_of_any_model(client):
    """The fields include reverse relations."""
    address = reverse("admin:autocomplete")

    for model in apps.get_models():
        for field in filter(attrgetter("is_relation"), model._meta.get_fields()):
            names = (model._meta.app_label, model._meta.model_name, field.name)
            source = urlencode(dict(zip(("app_label", "model_name", "field_name"), names, strict=True)))
            none_fails(client, [f"{address}?{source}&term=a"])
