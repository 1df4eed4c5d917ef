"""`python -m warpwright`: the command without its installed script."""

from warpwright.cli import main

if __name__ == "__main__":
    main()
