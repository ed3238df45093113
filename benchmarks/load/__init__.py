"""Everything at once over loopback for minutes, and the same while one fault after another happens."""
