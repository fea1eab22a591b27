"""The plan cache: what was compiled before, on disk, for the next process.

Start with ``store.py``: files by key, bounded in size. ``identity.py`` says what belongs into a
key besides the model: the code (``installed_code.py``) and the settings that a plan depends on.
``kernel_names.py`` says in a plan what makes its kernels.
What of a model is kept, and how it is found again, is for whoever reads that kind of model
(``headrace.onnx.kept``).
"""

from headrace.frontend.plan_cache.identity import identity_of
from headrace.frontend.plan_cache.store import (
    PlanStore,
    StoredFile,
    limit_bytes,
    plan_folder,
    plan_store,
)

__all__ = ["PlanStore", "StoredFile", "identity_of", "limit_bytes", "plan_folder", "plan_store"]
