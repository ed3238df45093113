"""The command `python -m callcentre.embedded exec`: PostgreSQL and Valkey for one command."""

import sys

from callcentre.launch.embedded import main

if __name__ == "__main__":
    sys.exit(main())
