"""Values that only the host has: text, maps, and sequences that a model takes or gives.

A device computes with tensors of numbers. What models do with text is at their ends: words become
numbers at the start (``LabelEncoder``, ``TfIdfVectorizer``), numbers become the names of classes at
the end, or a map of them (``ZipMap``). So a model with such values is cut into three: nodes that
the host runs first, a model of numbers for the device, and nodes that the host runs last. What the
host runs moves or looks up values; arithmetic stays with the device. Sequences of numbers that a
loop or a branch takes or gives are the device's too, as their tensors (``importing/lists.py``).

``kinds`` says which nodes are the host's, ``cut`` makes the three parts, ``nodes`` runs those of
the host: the usual ones by functions (``direct``), others by ONNX's reference implementation, with
``ops``, ``tables`` and ``tokens`` where that lacks an op or has it otherwise. ``patterns`` reads
patterns of text, ``feeds`` checks what is fed, and ``model`` is what users hold. The rest of the
import says by an error of its own that a model has such values (``file/hosted_error.py``).
"""
