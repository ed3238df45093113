"""The person at the terminal, as the histories and the audit log name them."""

import getpass

from callcentre.core.actor import Actor


def terminal_actor(command: str) -> Actor:
    """Return the actor of a command. A container's user may have a number and no name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return Actor("system", None, f"{command} ({user})")
