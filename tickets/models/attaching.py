"""Uploaded files become attachments: each once, of who uploaded it."""

from collections.abc import Sequence

from callcentre.actor import Actor
from callcentre.errors import ErrorCode, Fault
from tickets.models.file import StoredFile
from tickets.models.message import Message


def owned_by(actor: Actor) -> dict[str, int | None]:
    """The filter of files that the actor uploaded."""
    return {"api_user": actor.id} if actor.kind == "api_user" else {"user": actor.id}


def find_unused(actor: Actor, tokens: Sequence[str], faults: list[Fault]) -> list[StoredFile]:
    """The actor's files of these tokens, locked, in their order; what is wrong is added to the faults.

    Two messages that want the same file at once: the second waits, and then finds it used.
    """
    if not tokens:
        return []
    unused = StoredFile.objects.filter(token__in=set(tokens), message=None, **owned_by(actor))
    found = {file.token: file for file in unused.select_for_update(no_key=True).order_by("id")}
    files = []
    for position, token in enumerate(tokens):
        if file := found.pop(token, None):
            files.append(file)
        else:
            faults.append(Fault(ErrorCode.FILE_NOT_FOUND, f"attachments.{position}"))
    return files


def attach(message: Message, files: Sequence[StoredFile]) -> None:
    if files:
        StoredFile.objects.filter(pk__in=[file.pk for file in files]).update(message=message)
