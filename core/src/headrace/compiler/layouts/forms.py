"""``Forms``: the tensors of a job in the orders in which its new graph has them."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.compiler.layouts.choice import can_transpose
from headrace.compiler.layouts.orders import after, between, lifted, moves_nothing, plain
from headrace.data_format import Order
from headrace.graph import JobGraphBuilder, JobOp
from headrace.ops import Tensor
from headrace.ops.shape import permutation
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry


class Forms:
    """A tensor of the old graph has *forms* in the new one, one for each order it is needed in.

    Names are those of tensors of the old graph. Every form is made once, of the first one.
    """

    def __init__(self, builder: JobGraphBuilder, registry: BackendRegistry) -> None:
        self._builder = builder
        self._registry = registry
        self._forms: dict[str, dict[Order, Tensor]] = {}
        self._homes: dict[str, Placement] = {}
        self._transposes: dict[str, JobOp] = {}

    def add(self, name: str, order: Order, form: Tensor, home: Placement | None = None) -> None:
        """Let ``form`` be the first form of a tensor.

        Args:
            name: of the tensor.
            order: that it lies in.
            form: the tensor of the new graph.
            home: where further forms are made; None for where the first reader is.
        """
        self._forms[name] = {order: form}
        if home is not None:
            self._homes[name] = home

    def add_transpose(self, op: JobOp) -> None:
        """Let the forms of what a transpose reads be those of what it makes, in other orders.

        The op itself is added when somebody needs what it makes plain, and has to move something.
        """
        (source,), (made,) = op.inputs, op.outputs
        assert source is not None
        perm = permutation(op.call)
        self._forms[made] = {
            after(perm, order): form
            for order, form in self._forms[source].items()
            if len(order) == len(perm)
        }
        self._homes[made] = op.placement
        self._transposes[made] = op

    def orders(self, name: str) -> Iterator[Order]:
        """The orders that a tensor is there in."""
        return iter(self._forms[name])

    def cost(self, name: str, order: Order) -> int:
        """How many bytes a transpose to ``order`` has to move; 0 when it is there."""
        forms = self._forms[name]
        have, form = next(iter(forms.items()))
        shape, perm = lifted(form.spec.shape, order), between(have, order)
        free = order in forms or self._builder.value(form) is not None or moves_nothing(shape, perm)
        return 0 if free else form.spec.nbytes

    def get(self, name: str, order: Order, reader: Placement) -> Tensor:
        """A tensor in ``order``, for an op that is placed on ``reader``."""
        forms = self._forms[name]
        if order not in forms:
            forms[order] = self._made(name, order, self._homes.get(name, reader))
        return forms[order]

    def _made(self, name: str, order: Order, home: Placement) -> Tensor:
        have, form = next(iter(self._forms[name].items()))
        as_read = plain(len(have))
        op = self._transposes.get(name)
        if op is not None and order == as_read:
            assert op.inputs[0] is not None
            if as_read in self._forms[op.inputs[0]]:
                source = self._forms[op.inputs[0]][as_read]
                return self._builder.adopt(op, [source.name])[0]
        perm = between(have, order)
        lies = form.spec.with_shape(lifted(form.spec.shape, order))
        if as_read not in (have, order) and not can_transpose(
            lies, perm, self._registry.backend(home.tag)
        ):
            # Each order that was chosen is known to be one step from the plain one.
            return self._transposed(self.get(name, as_read, home), order, home)
        return self._transposed(form, perm, home)

    def _transposed(self, form: Tensor, perm: Order, home: Placement) -> Tensor:
        shape = lifted(form.spec.shape, perm)
        with self._builder.placed(home):
            if moves_nothing(shape, perm):
                made = tuple(shape[axis] for axis in perm)
                return self._builder.op("reshape", [form], shape=made)[0]
            if shape != form.spec.shape:
                (form,) = self._builder.op("reshape", [form], shape=shape)
            return self._builder.op("transpose", [form], perm=perm)[0]
