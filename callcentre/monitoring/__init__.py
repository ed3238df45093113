"""Health, metrics and log lines for the operators of the service."""
