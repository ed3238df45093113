"""Factories that know their model from its brackets: `class QueueFactory(ModelFactory[Queue])`."""

from typing import Any, TypeVar, get_args

import factory
from django.db.models import Model
from factory.base import FactoryMetaClass

M = TypeVar("M", bound=Model)


class _ModelInBrackets(FactoryMetaClass):
    def __new__(mcs, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> Any:
        for base in attrs.get("__orig_bases__", ()):
            (model,) = get_args(base)
            if isinstance(model, type):
                attrs.setdefault("Meta", type("Meta", (), {"model": model, "skip_postgeneration_save": True}))
        return super().__new__(mcs, name, bases, attrs)


class ModelFactory(factory.django.DjangoModelFactory[M], metaclass=_ModelInBrackets):
    class Meta:
        abstract = True
