"""headrace: a dataflow compiler and runtime for deep learning, with devices as plugins."""
