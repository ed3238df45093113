"""The processes of the service: the supervisor, the embedded stores, and the guard that ends them all."""
