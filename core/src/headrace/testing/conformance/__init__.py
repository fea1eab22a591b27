"""The conformance suite: runs against any installed backend.

``test_device``, ``test_allocator``, ``test_streams``, ``test_stream_errors``, ``test_layouts``,
``test_in_place`` and ``test_multi_device`` ask whether the backend keeps the contract of
``headrace.device``, one record at a time. ``test_<family>`` run every op of a family on the
device and compare it with the oracle; their ``CASES`` are data. ``test_errors`` holds that what the
device cannot do is said, and does no harm.

Tests get the device from ``headrace.testing.pytest_plugin`` as text. No test names a device.
"""
