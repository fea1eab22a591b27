"""The version of headrace, as it was installed."""

from importlib.metadata import version

__version__ = version("headrace")
