"""The configuration of a phone in a browser, as Asterisk gets it over ARI."""

from django.conf import settings


def phone_objects(number: str, password: str) -> dict[str, dict[str, str]]:
    """Return the objects of a phone in a browser, by their kinds, in the order in which they need each other.

    G.711 only: what the trunk talks; Asterisk can mix and generate nothing for a codec without an encoder. A browser
    sends packets even when muted; without any for `rtp_timeout` the window is gone. `qualify`: a phone that sleeps is
    offline after seven seconds.
    """
    return {
        "auth": {
            "auth_type": "digest",
            "username": number,
            "password": password,
            "supported_algorithms_uas": "SHA-256",
        },
        "aor": {"max_contacts": "1", "remove_existing": "yes", "qualify_frequency": "5", "qualify_timeout": "2"},
        "endpoint": {
            "transport": settings.PHONE_TRANSPORT,
            "context": settings.PHONE_CONTEXT,
            "disallow": "all",
            "allow": "alaw,ulaw",
            "webrtc": "yes",
            "auth": number,
            "aors": number,
            "rtp_timeout": "4",
        },
    }
