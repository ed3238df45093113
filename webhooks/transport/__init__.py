"""The HTTP client for deliveries. It knows no models, and no receiver can make it raise or wait too long."""

from webhooks.signing import new_secret, sign
from webhooks.transport.encoding import encode
from webhooks.transport.sender import Outcome, Sender
from webhooks.transport.sockets import Failure, open_socket, tls_text
from webhooks.transport.targets import (
    TargetError,
    are_allowed,
    are_within,
    check_target,
    looked_up,
    parse_server,
    parse_target,
)

__all__ = [
    "Failure",
    "Outcome",
    "Sender",
    "TargetError",
    "are_allowed",
    "are_within",
    "check_target",
    "encode",
    "looked_up",
    "new_secret",
    "open_socket",
    "parse_server",
    "parse_target",
    "sign",
    "tls_text",
]
