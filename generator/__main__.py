"""`python -m generator`: the command without its installed script."""

from generator.cli import main

if __name__ == "__main__":
    main()
