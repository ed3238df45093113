"""The choices of fields that are found by typing."""

from typing import Any

from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.core.exceptions import PermissionDenied
from django.db.models import Field, Model, QuerySet
from django.http import HttpRequest

from callcentre.core.search import text_of_list


class Autocomplete(AutocompleteJsonView):
    """Django's view, for fields of models only. It fails on a relation that is read from its other side."""

    def process_request(self, request: HttpRequest) -> Any:
        asked = super().process_request(request)
        term, admin, source_field, to_field = asked
        if not isinstance(source_field, Field):
            raise PermissionDenied
        return text_of_list(term), admin, source_field, to_field

    def get_queryset(self) -> QuerySet[Model]:
        """Return the choices in an order, so that no page of them repeats or skips a row.

        Django drops the order of the model in a query that counts related rows.
        """
        choices: QuerySet[Model] = super().get_queryset()
        return choices if choices.ordered else choices.order_by(*(choices.model._meta.ordering or ()), "pk")
