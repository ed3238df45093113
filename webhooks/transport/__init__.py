"""The HTTP client for deliveries. It knows no models, and no receiver can make it raise or wait too long."""
