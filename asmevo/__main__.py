"""`python -m asmevo`."""

from asmevo.cli.main import main

if __name__ == "__main__":
    main()
