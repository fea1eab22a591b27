"""Rewritings of a job before it is lowered to kernels: one file a pass, named verb_object."""
