"""The conformance suite: runs against any installed backend.

Whether the backend keeps the contract of ``headrace.device``, one record at a time, is asked by
``test_device``, ``test_allocator``, ``test_pinned``, ``test_streams``, ``test_stream_errors``,
``test_layouts``, ``test_in_place``, ``test_multi_device``, ``test_peer_copies`` and
``test_collectives``. All others run every op of a family on the device and compare it with the
oracle, one file for each family; their ``CASES`` are data. ``test_errors`` holds that what the
device cannot do is said, and does no harm.

Tests get the device from ``headrace.testing.pytest_plugin`` as text. No test names a device.
"""
