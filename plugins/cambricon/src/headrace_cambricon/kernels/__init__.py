"""The kernels, one module for each family of ops: each op as a sequence of vendor calls."""
