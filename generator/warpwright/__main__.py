"""`python -m warpwright`: the command without its installed script."""

import sys

from warpwright.child import import_path

if __name__ == "__main__":
    sys.path[:] = import_path()  # `python -m` has put the current directory first: a user's json.py is not ours
    from warpwright.cli import main

    main()
