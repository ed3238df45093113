"""Records from files: how a file is written, what its columns are, and one merge into the campaign."""
