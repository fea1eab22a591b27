"""Each stage of compiling as text: stable, so that it can be a golden file, and readable.

One file a structure; job graphs and plans are printed beside their definitions, by
``headrace.graph.dump`` and ``headrace.plan.dump``. ``dump_structure`` knows them all.
"""

from headrace.compiler.dumps.structure import dump_structure

__all__ = ["dump_structure"]
