"""The one client that sends a delivery: it knows no models, and nothing a receiver does can make it raise or wait."""

from webhooks.signing import new_secret, sign
from webhooks.transport.bodies import encode
from webhooks.transport.sender import Outcome, Sender
from webhooks.transport.targets import TargetError, check_target, parse_target

__all__ = ["Outcome", "Sender", "TargetError", "check_target", "encode", "new_secret", "parse_target", "sign"]
