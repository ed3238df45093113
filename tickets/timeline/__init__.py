"""The timeline of a customer: entries of several kinds in one order (docs/decisions/0027)."""

from tickets.timeline.kind import KIND_NAMES, Entry, Kind, Reader, kinds, register
from tickets.timeline.page import Page, Place, read_page

__all__ = ["KIND_NAMES", "Entry", "Kind", "Page", "Place", "Reader", "kinds", "read_page", "register"]
