"""In which order the axes of tensors lie in memory, as the kernels of their devices prefer it.

``near.py`` finds the ops that it is about, ``choice.py`` asks a device for the format of an op over
images, ``ways.py`` says how an op runs on tensors whose axes are in another order, ``wanted.py`` in
which orders tensors will be read, and ``forms.py`` keeps what a tensor became;
``passes/choose_layouts.py`` puts it together.
"""
