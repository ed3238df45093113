"""The service as its operators see it: health, metrics and log lines."""
