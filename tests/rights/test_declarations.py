from django.contrib import admin

from callcentre.core.scope import DIMENSIONS, WITHOUT_SCOPE_ONLY
from tests.rights.shared import SHARED


def test_each_model_of_the_admin_is_narrowed_or_shared_for_a_reason() -> None:
    declared = {model._meta.label for model in admin.site._registry if hasattr(model, "scope_lookups")}
    registered = {model._meta.label for model in admin.site._registry}

    assert declared | set(SHARED) == registered
    assert declared.isdisjoint(SHARED)


def test_lookups_name_dimensions() -> None:
    for model in admin.site._registry:
        lookups = getattr(model, "scope_lookups", {})
        assert lookups is WITHOUT_SCOPE_ONLY or set(lookups) <= set(DIMENSIONS), model
