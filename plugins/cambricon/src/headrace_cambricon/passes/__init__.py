"""Rewritings of a job before it is lowered to kernels."""
