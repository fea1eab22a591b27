"""Ops that this backend brings: products with packed weights, and what is done to them at once.

Passes put them in the place of ops of core. Nobody else says them: their weights lie as the
kernels want them.
"""
