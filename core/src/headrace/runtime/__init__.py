"""Runs plans."""
