"""The rules for values of a webhook, for the API and the admin."""

from collections.abc import Mapping
from typing import Any

from callcentre.core.errors import ErrorCode, Fault
from webhooks.signing import is_secret
from webhooks.transport.targets import TargetError, check_target

TARGET_FAULTS = {
    "length": ErrorCode.TARGET_MALFORMED,
    "url": ErrorCode.TARGET_MALFORMED,
    "scheme": ErrorCode.TARGET_SCHEME,
    "credentials": ErrorCode.TARGET_CREDENTIALS,
    "address": ErrorCode.TARGET_FORBIDDEN,
}


def faults_of(values: Mapping[str, Any]) -> list[Fault]:
    """Return the faults of these values of a webhook. Missing values are not checked.

    This asks a name server for the host of the address, for three seconds at most.
    """
    faults = []
    if "actions" in values and not values["actions"]:
        faults.append(Fault(ErrorCode.EMPTY, "actions"))
    if ":" in values.get("http_auth_user", ""):
        faults.append(Fault(ErrorCode.USER_HAS_COLON, "http_auth_user"))
    if "secret" in values and not is_secret(values["secret"]):
        faults.append(Fault(ErrorCode.SECRET_MALFORMED, "secret"))
    if url := values.get("subscription_url"):
        try:
            check_target(url)
        except TargetError as error:
            faults.append(Fault(TARGET_FAULTS[error.code], "subscription_url"))
    return faults
