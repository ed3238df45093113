"""The processes of `make run`: the supervisor, the embedded stores, and child processes that end with the launcher."""
