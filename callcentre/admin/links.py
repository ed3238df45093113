"""Texts and links in the cells of lists and the fields of pages."""

from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import models
from django.urls import reverse
from django.utils.html import format_html


def cut(text: Any) -> str:
    """Return a cell of a list that shows a long text cut to the column, and whole under the mouse."""
    return format_html('<span class="cc-cut" title="{}">{}</span>', text, text)


def unbroken(text: Any) -> str:
    """Return a cell that stays in one line."""
    return format_html('<span class="whitespace-nowrap">{}</span>', text)


def link(url: str, text: Any) -> str:
    """Return a link for a cell of a list or a field of a page."""
    return format_html('<a class="cc-link" href="{}">{}</a>', url, text)


def link_to(row: models.Model, text: Any = None) -> str:
    """Return a link to the page of a row, with the row's name or another text."""
    page = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
    return link(reverse(page, args=[row.pk]), row if text is None else text)


def related(row: Any, name: str) -> Any:
    """Return a related row; None if there is none, or if it was deleted where the database has no constraint on it."""
    try:
        return getattr(row, name)
    except ObjectDoesNotExist:
        return None
