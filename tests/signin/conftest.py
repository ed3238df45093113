from collections.abc import Iterator
from typing import Any

import pytest

from tests.callcentre.conftest import clock
from tests.callcentre.factories import ProviderGroupFactory
from tests.signin.provider import CLIENT_ID, StandIn, serving

__all__ = ["clock"]


@pytest.fixture
def standing(settings: Any) -> Iterator[StandIn]:
    with serving() as standing:
        settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = standing.issuer, CLIENT_ID, "key"
        ProviderGroupFactory(name="team", roles=["Agent"])
        yield standing
