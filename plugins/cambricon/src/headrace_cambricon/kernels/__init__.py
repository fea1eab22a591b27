"""The kernels, one module for each family of ops; each says its op as a sequence of vendor calls."""
