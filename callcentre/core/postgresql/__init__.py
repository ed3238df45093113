"""Django's connection to PostgreSQL, without cursors in sessions: a pooler gives each transaction another session."""
