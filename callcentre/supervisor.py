"""The command `python -m callcentre.supervisor`: the whole service in one terminal."""

import sys

from callcentre.launch.supervisor import main

if __name__ == "__main__":
    sys.exit(main())
