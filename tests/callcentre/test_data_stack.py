"""Functions that are called with room for their frames."""

import resource

import pytest

from callcentre.core.data_stack import with_room

CALLS = 2_000


def leaf(one, two, three, four):
    return one


def faults(depth):
    """Return how often the kernel gives memory to calls at this depth."""
    if depth:
        return faults(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for number in range(CALLS):
        leaf(number, number, number, number)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_calls_need_no_new_memory_at_any_depth():
    assert max(with_room(faults)(depth) for depth in range(0, 400, 2)) < CALLS / 10


def test_arguments_results_and_errors_pass():
    def function(*args, error=None):
        """Say what comes."""
        if error:
            raise error
        return args

    roomy = with_room(function)

    assert (roomy(1, 2), roomy.__name__, roomy.__doc__) == ((1, 2), "function", "Say what comes.")
    with pytest.raises(KeyError):
        roomy(error=KeyError())
