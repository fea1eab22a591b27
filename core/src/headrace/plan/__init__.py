"""The contract between compiler and runtime."""
