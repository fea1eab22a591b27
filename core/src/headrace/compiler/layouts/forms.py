"""``Forms``: the tensors of a job in the orders in which its new graph has them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headrace.compiler.layouts.choice import can_transpose
from headrace.compiler.layouts.orders import after, between, lifted, plain, steps
from headrace.compiler.layouts.ways import Way
from headrace.data_format import Order, moves_nothing
from headrace.graph import GraphRewriter, JobOp
from headrace.ops import Tensor
from headrace.ops.axes import permutation
from headrace.registry.registry import BackendRegistry

_NONE: Mapping[Order, Tensor] = MappingProxyType({})


class Forms:
    """A tensor of the old graph has *forms* in the new one, one for each order it is needed in.

    Names are those of tensors of the old graph. Every form is made once, of the first one. What was
    not said to be in another order lies plain, as in the old graph.
    """

    def __init__(self, rewriter: GraphRewriter, registry: BackendRegistry) -> None:
        self._rewriter = rewriter
        self._registry = registry
        self._forms: dict[str | None, dict[Order, Tensor]] = {}
        self._makers: dict[str, JobOp] = {}

    def add(self, name: str, order: Order, form: Tensor, maker: JobOp | None = None) -> None:
        """Let ``form`` be the first form of a tensor.

        Args:
            name: of the tensor.
            order: that it lies in.
            form: the tensor of the new graph.
            maker: the op on whose device further forms are made; None for the first that reads one.
        """
        self._forms[name] = {order: form}
        if maker is not None:
            self._makers[name] = maker

    def add_transpose(self, op: JobOp) -> None:
        """Let the forms of what a transpose reads be those of what it makes, in other orders.

        The op itself is added when somebody needs what it makes plain, and has to move something.
        """
        (source,), (made,) = op.inputs, op.outputs
        assert source is not None
        perm = permutation(op.call)
        self._forms[made] = {
            after(perm, order): form
            for order, form in self.of(source).items()
            if len(order) == len(perm)
        }
        self._makers[made] = op

    def cost(self, name: str, order: Order) -> int:
        """How many bytes a transpose to ``order`` has to move; 0 when it is there."""
        forms = self.of(name)
        if order in forms:
            return 0
        have, form = next(iter(forms.items()))
        if self._rewriter.is_known(form):
            return 0
        free = moves_nothing(lifted(form.spec.shape, order), between(have, order))
        return 0 if free else form.spec.nbytes

    def get(self, name: str, order: Order, reader: JobOp | None) -> Tensor:
        """A tensor in ``order``, for an op of the old graph or, if that is None, for the caller.

        What has to be added for it is said to be at the place of ``reader``.
        """
        forms = self.of(name)
        form = forms.get(order)
        if form is None:
            form = forms[order] = self._made(name, order, reader)
        return form

    def read_by(self, op: JobOp, way: Way, own: Way) -> tuple[str | None, ...]:
        """The names of what an op of the old graph reads in a way; as it is, it has its ``own``."""
        known = self._forms
        read: list[str | None] = []
        for name, order, as_it_is in zip(op.inputs, way.inputs, own.inputs, strict=True):
            if name is not None and (name in known or order != as_it_is):
                read.append(self.get(name, order, op).name)
            else:
                read.append(name)
        return tuple(read)

    def moved(self, name: str | None) -> Mapping[Order, Tensor]:
        """The forms of a tensor that need not lie plain; of others there may be none."""
        return self._forms.get(name, _NONE)

    def of(self, name: str) -> dict[Order, Tensor]:
        """The forms of a tensor, by their orders; not to be changed."""
        forms = self._forms.get(name)
        if forms is None:
            tensor = self._rewriter.tensor(name)
            forms = self._forms[name] = {plain(tensor.spec.rank): tensor}
        return forms

    def _made(self, name: str, order: Order, reader: JobOp | None) -> Tensor:
        maker = self._makers.get(name)
        place = maker or reader
        assert place is not None, f"{name!r} is there plain"
        have, form = next(iter(self.of(name).items()))
        perm, as_read = between(have, order), plain(len(have))
        possible = can_transpose(form.spec, perm, self._registry.backend(place.placement.tag))
        if maker is not None and maker.call.op == "transpose" and order == as_read:
            source = maker.inputs[0]
            assert source is not None
            if as_read in self.of(source) or not possible:
                return self._rewriter.adopt(maker, [self.get(source, as_read, maker).name])[0]
        if not possible and order != as_read:
            # Each order that was chosen is known to be one transpose from the plain one.
            form, perm = self.get(name, as_read, reader), order
        origin = (reader or place).call
        with self._rewriter.placed(place.placement):
            for op, attrs, made in steps(form.spec, perm):
                form = self._rewriter.move(op, form, made, attrs, origin.location or origin.name)
        return form
