"""Deletion of customers, tickets, chats, received mail and files on demand, each with all that belongs to it alone."""

from callcentre.core.deletions import Kind, register
from callcentre.core.personal_data import Person
from tickets.deletions import chats, customers, mail_and_files, tickets


def register_kinds() -> None:
    register("ticket", Kind("tickets.ticket", tickets.consequences, tickets.delete))
    register("chat", Kind("tickets.chat", chats.consequences, chats.delete))
    register("mail", Kind("tickets.receivedmail", mail_and_files.consequences, mail_and_files.delete))
    register("file", Kind("tickets.storedfile", mail_and_files.consequences_of_file, mail_and_files.delete_file))
    register(
        "customer",
        Kind(
            "tickets.customer",
            customers.consequences,
            customers.delete,
            person=lambda pk: Person(tuple(customers.ids_of(pk))),
        ),
    )
