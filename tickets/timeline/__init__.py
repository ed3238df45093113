"""The timeline of a customer: entries of several kinds in one order (docs/decisions/0027)."""

from tickets.timeline.page import KIND_NAMES, Entry, Kind, Page, Place, Reader, kinds, read_page, register
