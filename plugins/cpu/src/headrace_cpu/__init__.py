"""The CPU backend of headrace.

Start with ``plugin.py``: it implements the hooks and lists everything that this distribution
offers. ``kernels/`` holds one module for each family of ops. Heavy loops are C++ in the extension
``_native``; its functions are described in ``_native.pyi`` and written in ``csrc/``.

``threads`` and ``set_threads`` say how many threads its kernels use.

Importing this package must not load ``_native``. What another backend could use as well does not
belong here, and nothing here imports more of headrace than the contract for plugins.
"""

from __future__ import annotations

from headrace_cpu.extension import native


def threads() -> int:
    """How many threads work on a kernel, the caller's included.

    The variable ``HEADRACE_CPU_THREADS`` says it, or else the cores that this process may use.
    Where the system starts fewer, the first kernel says so on stderr, and it is those from then on.

    Raises:
        SettingError: the variable is no number from 1 to 1024.
    """
    return native.threads()


def set_threads(count: int) -> None:
    """Let ``count`` threads work on each kernel from now on; results do not depend on it.

    For the whole process. A kernel that is running is waited for.

    Raises:
        TypeError: ``count`` is no whole number.
        ValueError: it is not from 1 to 1024.
    """
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"set_threads takes a whole number from 1 to 1024, not {count!r}")
    native.set_threads(count)
