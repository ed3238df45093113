"""Imports of records from files: formats, columns, rows, preview, and the merge into the campaign."""
