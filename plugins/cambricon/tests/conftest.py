"""The tests of the backend run on the stand-in, unless a library is named."""

import os

os.environ.setdefault("HEADRACE_CAMBRICON_LIBRARY", "sim")
os.environ.setdefault("MLUSIM_CARDS", "2")
