"""The command `crossmatch`, and `python -m crossmatch`."""

from core.cli import main

if __name__ == "__main__":
    main()
