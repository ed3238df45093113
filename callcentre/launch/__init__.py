"""The processes of the service: the supervisor, the embedded stores, and the process guard."""
