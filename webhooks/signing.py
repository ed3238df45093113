"""Signatures of the Standard Webhooks specification, which has verifiers in most languages."""

import base64
import hmac
import secrets
from collections.abc import Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32
# The lengths that the specification allows for secrets of others.
LEAST_BYTES, MOST_BYTES = 24, 64


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def is_secret(text: str) -> bool:
    """Return whether the text is a secret by the specification."""
    try:
        return text.startswith(PREFIX) and LEAST_BYTES <= len(_key(text)) <= MOST_BYTES
    except ValueError:
        return False


def sign(signing_secrets: Sequence[str], webhook_id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature`: one signature per secret, so that each one verifies during a rotation.

    The timestamp is in seconds since 1970, as in the header `webhook-timestamp`. Raises ValueError if a secret is not
    Base64.
    """
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    digests = (hmac.digest(_key(secret), signed, "sha256") for secret in signing_secrets)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        # The original error would bring the secret into a log.
        raise ValueError("The signing secret is not Base64.") from None
