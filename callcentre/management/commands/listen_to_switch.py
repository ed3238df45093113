from callcentre.management.processes import ProcessCommand
from telephony.listener import Listener


class Command(ProcessCommand):
    help = (
        "Hear the switch and carry out what calls need. One process does it; further ones wait to take its place. "
        "Ends on SIGTERM and Ctrl-C."
    )
    worker = Listener
