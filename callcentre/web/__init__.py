"""The web server's part of the service: incoming requests, log-in, sessions, menu and error pages."""
