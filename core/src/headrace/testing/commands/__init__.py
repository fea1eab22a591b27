"""The subcommands of ``python -m headrace.testing``, one file each."""
