"""The web server's side of the service: requests on their way in, log-in, sessions, menu and error pages."""
