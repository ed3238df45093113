"""The foundations of every app: values, errors, and the one way to do each common thing."""
