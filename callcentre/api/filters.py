"""Query parameters, read strictly, reported with all faults at once, and applied as filters."""

from collections.abc import Iterable
from typing import Any, TypeVar
from urllib.parse import quote

from django.db.models import Model, QuerySet
from django.http import QueryDict
from django_filters import rest_framework as filters
from rest_framework.request import Request

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.parsing import Reject, map_key, parse_boolean, parse_id, parse_instant, parse_text, query_list

M = TypeVar("M", bound=Model)


class Query(QueryDict):
    """The parameters of a request. It remembers those that were read, so that `ignored` names the others."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self._read.add(name)
        return super().__getitem__(name)

    def getlist(self, name: str, *args: Any) -> Any:
        self._read.add(name)
        return super().getlist(name, *args)

    @property
    def ignored(self) -> str:
        """The names of the parameters that were not read, percent-encoded and separated by commas."""
        # Clients and proxies limit the length of headers.
        return ", ".join(quote(name, safe="[]") for name in self if name not in self._read)[:1000]


class _Wire:
    """A reader of one parameter, which raises Reject."""

    # Faults of the documents, beside those of all filters of this kind.
    errors: tuple[ErrorCode, ...] = ()

    def read(self, params: QueryDict, name: str) -> Any:
        text = params.get(name, "")
        return self.parse(text) if text.strip() else None

    def parse(self, text: str) -> Any:
        raise NotImplementedError


class TextFilter(_Wire, filters.CharFilter):
    def parse(self, text: str) -> str:
        return parse_text(text)


class IdFilter(_Wire, filters.NumberFilter):
    def parse(self, text: str) -> int:
        return parse_id(text)


class BooleanFilter(_Wire, filters.BooleanFilter):
    def parse(self, text: str) -> bool:
        return parse_boolean(text)


class InstantFilter(_Wire, filters.CharFilter):
    """A date or time; as an upper bound it includes its whole day or minute."""

    def __init__(self, *args: Any, is_upper_bound: bool = False, **kwargs: Any) -> None:
        self.is_upper_bound = is_upper_bound
        super().__init__(*args, **kwargs)

    def parse(self, text: str) -> Any:
        return parse_instant(text, is_upper_bound=self.is_upper_bound)


class ListFilter(_Wire, filters.Filter):
    """One or more values in any spelling of a list, restricted to `choices` if given."""

    def __init__(self, *args: Any, choices: list[str] | None = None, **kwargs: Any) -> None:
        self.choices = choices
        super().__init__(*args, lookup_expr="in", **kwargs)

    def read(self, params: QueryDict, name: str) -> list[Any] | None:
        return [self.parse(text) for text in query_list(params, name)] or None

    def parse(self, text: str) -> Any:
        if self.choices is not None and text not in self.choices:
            raise Reject(ErrorCode.NOT_CHOICE, choices=", ".join(self.choices))
        return parse_text(text)


class IdListFilter(ListFilter):
    def parse(self, text: str) -> int:
        return parse_id(text)


class MapFilter(_Wire, filters.Filter):
    """Name -> alternative values: `fields[<name>]=<value>`, or `fields[<name>][<n>]=<value>` for several."""

    def read(self, params: QueryDict, name: str) -> dict[str, list[str]] | None:
        key = map_key(name)
        wanted: dict[str, list[str]] = {}
        for spelled in params:
            if found := key.match(spelled):
                wanted.setdefault(found["name"], []).extend(parse_text(value) for value in params.getlist(spelled))
        return wanted or None


class FilterSet(filters.FilterSet):
    @classmethod
    def filtered(cls, request: Request, queryset: QuerySet[M, Any], faults: Iterable[Fault] = ()) -> QuerySet[M, Any]:
        """Return the queryset narrowed by the request's query.

        Raise Invalid with all unreadable parameters, and with the faults given.
        """
        for name, value in cls.values_of(request, faults).items():
            queryset = cls.base_filters[name].filter(queryset, value)
        return queryset

    @classmethod
    def values_of(cls, request: Request, faults: Iterable[Fault] = ()) -> dict[str, Any]:
        """Return the parameters that the request gives. Raise Invalid like `filtered`."""
        faults, values = list(faults), {}
        for name, filter_ in cls.base_filters.items():
            try:
                value = filter_.read(request.query_params, name)
            except Reject as reject:
                faults.append(Fault(reject.fault.code, name, reject.fault.params))
                continue
            if value is not None:
                values[name] = value
        if faults:
            raise Invalid(faults)
        return values
