"""Generated from `protos/` by `tools/generate_protos.py`. Never edited; only plan.codec reads it."""
