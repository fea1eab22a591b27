"""A plan as one web page: ops, streams and memory to look at, with nothing to install or to fetch.

``render.py`` makes the text of the page. What it shows is computed here, in ``data.py`` and what
that uses, out of the plan alone: ``graph.py`` (nodes and wires), ``layers.py`` (where they are
drawn), ``lanes.py`` (actors on streams), ``memory.py`` (lifetimes and live bytes); ``timeline.py``
adds calls that were measured. The scripts in ``assets/`` draw, and compute nothing that they show
as a number.
"""

from headrace.page.data import OpNote, StageNote
from headrace.page.render import render_page

__all__ = ["OpNote", "StageNote", "render_page"]
