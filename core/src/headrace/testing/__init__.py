"""Shipped test kit."""
