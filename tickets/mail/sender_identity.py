"""The sender of a mail: its From, or the Reply-To of a mail that a form of our own sent."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """A name and an address, as a header of a mail has them."""

    name: str = ""
    address: str = ""

    def is_same_as(self, other: "Person") -> bool:
        """Return whether both have one address; its case does not count."""
        return self.address.lower() == other.address.lower()


def answers_elsewhere(author: Person, answers_to: Sequence[Person]) -> Person | None:
    """Return who gets the answers in place of the author: the first of Reply-To, unless the author is among them."""
    if any(author.is_same_as(each) for each in answers_to):
        return None
    return next(iter(answers_to), None)


def sender_of(author: Person, answers_to: Sequence[Person], *, is_own: bool) -> Person:
    """Return who a mail is from.

    `author` is its From, `answers_to` its Reply-To. `is_own` says that From is one of our own addresses: a form on a
    web site sends such a mail, and names in Reply-To the person who filled it in. Reply-To of any other mail says where
    answers go, and proves nothing of its author.
    """
    return answers_to[0] if is_own and answers_to else author
