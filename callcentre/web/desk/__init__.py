"""The desk: the page on which an agent works (docs/decisions/0030)."""
