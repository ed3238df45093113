"""Tables of the report as files, built by workers."""
