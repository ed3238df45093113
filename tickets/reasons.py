"""Reasons that are stored in English and shown in the language of the reader."""

from django.utils.translation import gettext as translate


def translated(reason: str) -> str:
    """Translate the text before the first colon. A detail after it stays as it is."""
    sentence, colon, detail = reason.partition(": ")
    return f"{translate(sentence)}{colon}{detail}" if sentence else ""
