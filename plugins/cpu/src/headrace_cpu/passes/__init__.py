"""Passes of this backend: from ops of core to its own.

They run in the order in which ``plugin.py`` lists them: weights are packed, then what follows a
product is put into it.
"""
