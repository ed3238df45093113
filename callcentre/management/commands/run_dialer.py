from callcentre.management.processes import ProcessCommand
from campaigns.dialling.dialler import Dialler


class Command(ProcessCommand):
    help = (
        "Call the records of campaigns for their free agents. Several processes share the campaigns. "
        "Ends on SIGTERM and Ctrl-C."
    )
    worker = Dialler
