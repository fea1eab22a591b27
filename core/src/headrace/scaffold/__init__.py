"""``headrace new-backend``: the package that an author of a backend starts from.

``templates/`` holds it: ``both`` for every backend, ``python`` and ``native`` for one kind. A file
there is copied without its suffix ``.in``, with ``@NAME@`` and its like replaced, in its path as
well. ``write.py`` does that; nothing else belongs here.
"""

from headrace.scaffold.write import new_backend

__all__ = ["new_backend"]
