"""What a caller is told of an error: the op, the task and the device, and what its actor did last.

An error that cannot be printed is passed on as it is: it must still end the call.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import HeadraceError, LaunchError, RunError
from headrace.ids import ActorId
from headrace.light_dataclass import dataclass
from headrace.plan import Plan, TaskKind
from headrace.plan.names import stream_name
from headrace.runtime.network import Network
from headrace.runtime.story import inline_story_of


@dataclass(frozen=True, slots=True)
class Failure:
    """What stopped the thread of a stream.

    Attributes:
        error: what was raised.
        stream: the stream, in words.
        acts: those in one of which it happened, as far as that is known; none if it happened
            outside of acts.
        transitions: the last ones of the actor of the first act.
    """

    error: BaseException
    stream: str
    acts: Sequence[tuple[ActorId, int]]
    transitions: tuple[str, ...]


def inline_error(
    plan: Plan, network: Network, error: BaseException, actor_id: ActorId
) -> BaseException:
    """``error`` as a RunError that says where it happened; its cause is what was raised."""
    try:
        return _run_error(plan, network, error, actor_id, inline_story_of(actor_id, network))
    except Exception:  # noqa: BLE001 - it cannot be printed
        return error


def thread_error(plan: Plan, network: Network, failure: Failure) -> BaseException:
    """As ``inline_error``, also of what would end the process if a caller raised it."""
    error = failure.error
    try:
        if failure.acts:
            return _run_error(plan, network, error, failure.acts[0][0], failure.transitions)
        text = f"job {plan.name!r}: the thread of stream {failure.stream} ended: {error!r}"
        found = RunError(text, device=failure.stream)
        found.__cause__ = error
        return found
    except Exception:  # noqa: BLE001 - it cannot be printed
        return error


def _run_error(
    plan: Plan,
    network: Network,
    error: BaseException,
    actor_id: ActorId,
    transitions: tuple[str, ...],
) -> RunError:
    actor = plan.actors[actor_id]
    tasks = [plan.tasks[position] for position in actor.tasks]
    tasks = [task for task in tasks if task.kind is not TaskKind.VIEW] or tasks
    device = stream_name(plan, actor.stream_id)
    cause: BaseException = error
    if isinstance(error, LaunchError) and 0 <= error.index < len(tasks):
        cause = error.__cause__ or error
        tasks = [tasks[error.index]]
    what = str(tasks[0].call or tasks[0].name)
    if len(tasks) > 1:  # queued work failed later: all we know is the sequence
        what = f"one of {len(tasks)} tasks, from {what} to {tasks[-1].call or tasks[-1].name},"
    text = str(cause) if isinstance(cause, HeadraceError) else repr(cause)
    text = text.removeprefix(f"{what}: ")  # errors of ops begin with the op
    job = plan.jobs[network.jobs[actor_id]].name
    found = RunError(
        f"job {job!r}: {what} failed on {device}: {text}",
        op=tasks[0].call.op if tasks[0].call else "",
        task=tasks[0].name,
        device=device,
        transitions=transitions,
    )
    found.__cause__ = cause
    return found
