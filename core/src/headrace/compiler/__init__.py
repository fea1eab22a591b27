"""From a job graph to a plan."""
