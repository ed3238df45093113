"""Reasons that are stored in English and read in the reader's language."""

from django.utils.translation import gettext as translate


def translated(reason: str) -> str:
    """Translate the sentence of ours before the first colon; a detail after it stays as it came."""
    sentence, colon, detail = reason.partition(": ")
    return f"{translate(sentence)}{colon}{detail}" if sentence else ""
