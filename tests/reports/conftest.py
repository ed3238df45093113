"""The people of the scenes, and examples of hypothesis whose shrinking would not simplify a failing seed."""

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.reports.scenes import Cast, cast

settings.register_profile(
    "seeds",
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def people() -> Cast:
    return cast()
