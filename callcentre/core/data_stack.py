"""Room for the frames of Python functions, so that calls do not ask the kernel for memory.

CPython (3.11 to 3.14) keeps the frames of functions in chunks of 16 kB, and frees a chunk with the last frame in it.
Code whose depth is just at the end of a chunk maps and unmaps memory with each call: 5,000 times for a list of the
admin, a third of its time. Late releases of 3.13 and 3.14 keep one chunk; 3.11 and 3.12 will not
(https://github.com/python/cpython/issues/142183). A frame that asks for more than is left gets a larger chunk, and the
frames of all that it calls fit into the rest.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
# References of a frame, of 8 bytes each: the chunk has 512 kB.
ROOM = 32 * 1024


def with_room(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function, called with room for some thousand frames."""

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=ROOM)
    return wraps(function)(call)
