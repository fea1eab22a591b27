"""What is installed and what of it may run: discovery, loading, and the tables made from it."""
