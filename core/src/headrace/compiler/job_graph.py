"""The job graph lies in ``headrace.graph``, where plugins see it too."""

from headrace.graph.job_graph import FOLD_LIMIT_BYTES, JobGraph, JobGraphBuilder, JobOp

__all__ = ["FOLD_LIMIT_BYTES", "JobGraph", "JobGraphBuilder", "JobOp"]
