"""Deletion of customers, tickets, chats, received mail and files: each on demand, with all that is only theirs."""

from callcentre.core.deletions import Kind, register
from tickets.deletions import of_chats, of_customers, of_mail, of_tickets


def register_kinds() -> None:
    register("ticket", Kind("tickets.ticket", of_tickets.consequences, of_tickets.delete))
    register("chat", Kind("tickets.chat", of_chats.consequences, of_chats.delete))
    register("mail", Kind("tickets.receivedmail", of_mail.consequences, of_mail.delete))
    register("file", Kind("tickets.storedfile", of_mail.consequences_of_file, of_mail.delete_file))
    register("customer", Kind("tickets.customer", of_customers.consequences, of_customers.delete))
