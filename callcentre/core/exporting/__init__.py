"""Exports as files, built by workers: their rows, claim, progress, formats and removal."""
