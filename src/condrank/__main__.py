"""``python -m condrank`` is the ``condrank`` command."""

from condrank.cli import app

if __name__ == "__main__":
    app()
