"""``python -m headrace``: the command ``headrace``, for when it is not on the path."""

from headrace.cli import main

main(prog_name="headrace")
