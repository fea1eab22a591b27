"""Jobs on many devices: which part of each tensor lies where, and how it gets elsewhere.

``layout.py`` says what each device of a placement holds of a tensor, ``signature.py`` chooses how
an op runs over its devices, ``boxing.py`` brings a tensor from one layout to another. All of it is
said in ops of core, each on one device; ``passes/shard_ops.py`` puts it together.
"""
