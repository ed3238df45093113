"""No module imports another in a circle. Imports inside functions count, imports for type checking do not."""

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

PACKAGES = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail("import each other: " + " ← ".join(error.args[1]))
