"""The glossary names classes that exist."""

import re
from importlib import import_module

import pytest
from django.apps import apps

from tests.processes import ROOT

ROWS = [line for line in (ROOT / "docs" / "glossary.md").read_text().splitlines() if line.startswith("| ")]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([a-z]\w+(?:\.\w+)+)`", row.split("|")[3])})
OUR_APPS = ("callcentre", "campaigns", "knowledgebase", "overview", "reports", "telephony", "tickets", "webhooks")


@pytest.mark.parametrize("name", NAMES)
def test_each_named_class_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")

    if module in OUR_APPS:
        assert apps.get_model(module, attribute)
    else:
        assert hasattr(import_module(module), attribute)


def test_each_term_has_one_row() -> None:
    terms = [row.split("|")[1].strip() for row in ROWS if "|---" not in row and not row.startswith("| term")]

    assert len(terms) == len(set(terms)) > 80
