"""The admin site: what every app's admin shares."""
