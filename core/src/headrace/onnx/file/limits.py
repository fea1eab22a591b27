"""The bounds that keep a model file, however it was made, from taking the machine.

Each is far above what a useful model needs, and is checked from a header or a count before
anything of that size is read or allocated.
"""

from __future__ import annotations

FILE_BYTES = (1 << 31) - 1
"""Size of a model file, external data apart: protobuf reads no larger message."""

WEIGHT_BYTES = 16 << 30
"""All initializers together, those in external files included; and all that is made of them when
somebody asks for it."""

TENSOR_BYTES = 4 << 30
"""One tensor that a node computes."""

FOLDED_BYTES = 2 << 30
"""All tensors together that are computed while a model is imported."""

NODES = 1_000_000
"""Nodes that are imported, after functions are put in place of their calls."""

DEPTH = 64
"""How deep functions and branches may nest: protobuf's own bound on nested graphs is near it."""

ITERATIONS = 10_000
"""How often the body of one loop runs, as it is written out."""

SPECIALISED_BYTES = 1 << 16
"""Model inputs whose values become part of a job because a shape depends on them; where it takes
more, the model runs in stages."""

UNROLLED_BYTES = 64
"""Model inputs whose values say how often a loop runs, for it to be written out; where it takes
more, the host runs its body turn by turn."""

WRITTEN_NODES = 1024
"""Nodes of one loop that is written out; the host runs the body of a larger one. To compile a node
takes as long as seven turns take longer by the host, and is done for each number of turns that a
model meets."""

BODY_JOBS = 1024
"""Compiled jobs of the body of one such loop: where a counter decides shapes, each number has
one."""

STAGES = 64
"""Jobs that a model runs one after another, where shapes depend on what is computed."""

IR_VERSIONS = (3, 14)
"""Versions of the file format, first and last."""

OPSETS = (1, 28)
"""Versions of the default operator set, first and last."""

JOBS = 128
"""Compiled jobs that a model keeps at most; the one unused longest goes first."""

FEW_JOBS = 16
"""So many it keeps whatever they hold."""

JOBS_BYTES = 256 << 20
"""Memory of a model's jobs, weights apart that they have in common; where it takes more, those go
that are more than few."""

PARSED_BYTES = 4 << 20
"""Of a model that has met inputs of two shapes, what was parsed stays in memory for the next one,
unless it takes more than so much in its file."""

KEPT_PLANS = 64
"""So many plans of a model are kept on disk by one process: who meets a new shape in every call
would fill the cache with what nobody asks for again."""
