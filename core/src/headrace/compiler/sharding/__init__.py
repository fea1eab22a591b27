"""Jobs on many devices: which part of each tensor lies where, and how it gets elsewhere.

``layout.py`` says what each device of a placement holds of a tensor and ``sharded.py`` keeps the
parts; ``signature.py`` chooses how an op runs over its devices; ``boxing.py`` brings a tensor from
one layout to another. It asks ``exchange.py`` whether a collective does that, ``topology.py`` what
a byte costs on which link, ``offered.py`` what a plugin does itself and ``halving.py`` what core
makes in its place; whatever is left, ``assemble.py`` puts together. ``log.py`` remembers what was
done. All of it is expressed in ops of core, each on one device; ``sharing.py`` puts it together,
for ``passes/shard_ops.py``.
"""
