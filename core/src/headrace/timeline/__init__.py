"""What a run did and when: spans of tasks, and what follows from them and the plan alone.

A recorder of the runtime makes ``TaskSpan``s (``span.py``). Out of them come lanes (``lanes.py``),
calls (``calls.py``), what streams waited for (``waits.py``, which asks ``sources.py`` whom), which
bytes held something that was still needed (``occupancy.py``), and where the time went
(``totals.py``). ``chrome.py`` writes all of it for viewers of timelines; the page of a plan draws
it. Everything here is pure: times are nanoseconds of ``time.perf_counter_ns``, positions are those
of the plan.
"""

from headrace.timeline.calls import CallSpan, call_spans, called
from headrace.timeline.chrome import chrome_events
from headrace.timeline.lanes import Lane, lane_of, lanes, what
from headrace.timeline.occupancy import Life, held, lives
from headrace.timeline.sources import Source, sources
from headrace.timeline.span import TaskSpan
from headrace.timeline.totals import KindTime, LaneTime, TaskTime, by_kind, by_lane, by_task
from headrace.timeline.waits import Wait, WaitKind, waits

__all__ = [
    "CallSpan",
    "KindTime",
    "Lane",
    "LaneTime",
    "Life",
    "Source",
    "TaskSpan",
    "TaskTime",
    "Wait",
    "WaitKind",
    "by_kind",
    "by_lane",
    "by_task",
    "call_spans",
    "called",
    "chrome_events",
    "held",
    "lane_of",
    "lanes",
    "lives",
    "sources",
    "waits",
    "what",
]
