"""The memory plan as text: for each chunk who has which bytes, and from which task to which."""

from __future__ import annotations

from headrace.compiler.stage import Planned
from headrace.compiler.task_graph import PhysicalTensor


def dump_memory_plan(planned: Planned) -> str:
    """All chunks, in each by offset; ends with a newline."""
    graph, memory = planned.tasks, planned.memory
    tensors = {tensor.name: tensor for tensor in graph.tensors.values()}
    tensors.update((tensor.name, tensor) for tensor in memory.workspaces.values())
    lives = _lives(planned)
    inside: list[list[tuple[int, str]]] = [[] for _ in memory.chunks]
    for name, place in memory.places.items():
        inside[place.chunk].append((place.offset, name))
    lines = [f"memory of {graph.name!r}"]
    for number, chunk in enumerate(memory.chunks):
        lines.append(f"  chunk {number}: {chunk.nbytes} bytes of {chunk.memory}")
        for offset, name in sorted(inside[number]):
            place, spec = memory.places[name], tensors[name].spec
            end = offset + place.stride * (place.slots - 1) + spec.nbytes
            slots = f" x{place.slots}" if place.slots > 1 else ""
            life = _life(tensors[name], lives.get(name))
            lines.append(f"    [{offset}, {end}) {name}: {spec}{slots}, {life}")
    return "\n".join(lines) + "\n"


def _lives(planned: Planned) -> dict[str, tuple[int, int]]:
    """The first and the last task that touches a tensor."""
    lives: dict[str, tuple[int, int]] = {}
    for position, task in enumerate(planned.tasks.tasks):
        for name in (*task.inputs, *task.outputs):
            if name is not None:
                lives[name] = (lives.get(name, (position, position))[0], position)
    for position, scratch in planned.memory.workspaces.items():
        lives[scratch.name] = (position, position)
    return lives


def _life(tensor: PhysicalTensor, life: tuple[int, int] | None) -> str:
    if tensor.constant is not None:
        return "constant"
    if tensor.variable:
        return "variable"
    if life is None:
        return "touched by no task"
    first, last = life
    return f"task {first}" if first == last else f"tasks {first} to {last}"
