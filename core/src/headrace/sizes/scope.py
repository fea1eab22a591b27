"""``Scope``: the unknowns of sizes, and all that was decided of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from math import gcd, prod

from headrace.sizes.size import Size, Terms, Whole

LEAST = 2
"""No unknown is less: what is empty, or one and repeated, is another thing to most who look."""


class _Range:
    """What was decided of a polynomial: it is within bounds, and is none of some numbers."""

    __slots__ = ("high", "holes", "low")

    def __init__(self, low: int | None) -> None:
        self.low = low
        self.high: int | None = None
        self.holes: set[int] = set()

    def holds(self, number: int) -> bool:
        """Whether ``number`` is one that all was decided alike for."""
        return (
            (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and number not in self.holes
        )


_numbers = count(1)


class Scope:
    """Unknowns and what was decided of them; used by one thread.

    Attributes:
        number: no other scope of the process has it.
        unknowns: a size for each.
    """

    def __init__(self, examples: Sequence[int]) -> None:
        """Begin with nothing decided.

        Args:
            examples: what the unknowns are; at least ``LEAST`` each.
        """
        assert min(examples, default=LEAST) >= LEAST
        self.number = next(_numbers)
        self._count = len(examples)
        self._quotients: list[tuple[Whole, Whole]] = []  # atoms behind the unknowns
        self._atoms: dict[tuple[Whole, Whole], int] = {}
        self._examples = list(examples)  # of the atoms
        self._made: dict[Terms, Size] = {}
        self._ranges: dict[Terms, _Range] = {}
        self.unknowns = tuple(self._of({(number,): 1}) for number in range(self._count))

    @property
    def examples(self) -> Values:
        """What sizes are where nothing is decided otherwise: as it was decided by."""
        values = self.values([size.example for size in self.unknowns])
        assert values is not None
        return values

    @property
    def pins(self) -> Mapping[Terms, int]:
        """The polynomials of which the number was told, or decided."""
        return {
            terms: known.low
            for terms, known in self._ranges.items()
            if known.low is not None and known.low == known.high
        }

    def values(self, unknowns: Sequence[int]) -> Values | None:
        """What sizes are for other unknowns; None where something would be decided otherwise."""
        if min(unknowns, default=LEAST) < LEAST:
            return None
        values = Values(unknowns)
        try:
            for above, below in self._quotients:
                values.add(above, below)
        except ZeroDivisionError:
            return None
        if all(known.holds(values.of_terms(terms)) for terms, known in self._ranges.items()):
            return values
        return None

    # For sizes.

    def pin(self, size: Size) -> int:
        """The number that ``size`` is in the examples, and must be from now on."""
        is_same = self.is_zero(size - size.example)
        assert is_same
        return size.example

    def is_equal(self, size: Size, number: int) -> bool:
        """Whether a size is ``number``."""
        return self.is_zero(size - number)

    def is_zero(self, difference: Whole) -> bool:
        """Whether a size is 0."""
        if type(difference) is int:
            return difference == 0
        terms, number, factor, _ = _split(difference.terms)
        if number % factor:
            return False
        known, wanted = self._range(terms), -number // factor
        if known.low is not None and wanted < known.low:
            return False
        if known.high is not None and wanted > known.high:
            return False
        if wanted in known.holes:
            return False
        if known.low == known.high == wanted:
            return True
        if difference.example == 0:
            known.low = known.high = wanted
            return True
        known.holes.add(wanted)
        return False

    def is_negative(self, size: Whole) -> bool:
        """Whether a size is less than 0."""
        if type(size) is int:
            return size < 0
        terms, number, factor, sign = _split(size.terms)
        known = self._range(terms)
        # sign * factor * p + given < 0, where p is what is known of
        given = sign * number
        if sign > 0:
            most = (-given - 1) // factor  # p <= most
            return self._is_at_most(known, most, size.example < 0)
        least = given // factor + 1  # p >= least
        return not self._is_at_most(known, least - 1, not size.example < 0)

    @staticmethod
    def _is_at_most(known: _Range, most: int, answer: bool) -> bool:
        if known.high is not None and known.high <= most:
            return True
        if known.low is not None and known.low > most:
            return False
        if answer:
            known.high = most
        else:
            known.low = most + 1
        return answer

    def total(self, a: Whole, b: Whole) -> Whole:
        """The sum of two, at least one of them a size."""
        terms = dict(_terms(a))
        for atoms, factor in _terms(b):
            terms[atoms] = terms.get(atoms, 0) + factor
        return self._of(terms)

    def product(self, a: Whole, b: Whole) -> Whole:
        """The product of two."""
        if type(a) is int and type(b) is int:
            return a * b
        terms: dict[tuple[int, ...], int] = {}
        for atoms, factor in _terms(a):
            for more, times in _terms(b):
                key = tuple(sorted(atoms + more)) if atoms and more else atoms or more
                terms[key] = terms.get(key, 0) + factor * times
        return self._of(terms)

    def quotient(self, above: Whole, below: Whole) -> Whole:
        """``above // below``, at least one of them a size.

        Raises:
            ZeroDivisionError: ``below`` is 0, which is then decided.
        """
        if below == 0:
            raise ZeroDivisionError("a size is divided by 0")
        if type(below) is int:
            if below < 0:
                return self.quotient(-above, -below)
            whole = {atoms: factor // below for atoms, factor in above.terms if not factor % below}
            rest = self._of({atoms: factor for atoms, factor in above.terms if factor % below})
            if type(rest) is int:
                return self.total(rest // below, self._of(whole))
            # Of the number that is added, what is a multiple is so too.
            return self.total(self._of(whole), self._quotient(rest, below))
        return self._of_size(above, below)

    def _of_size(self, above: Whole, below: Size) -> Whole:
        if above == 0:
            return 0
        first, rest = _terms(above)[0], _terms(above)
        if len(below.terms) == 1:
            (atoms, factor) = below.terms[0]
            whole: dict[tuple[int, ...], int] = {}
            for many, times in rest:
                left = _without(many, atoms)
                if left is None or times % factor:
                    return self._quotient(above, below)
                whole[left] = times // factor
            return self._of(whole)
        atoms, factor = below.terms[0]
        left = _without(first[0], atoms)
        if left is not None and not first[1] % factor:
            times = self._of({left: first[1] // factor})
            if self.product(below, times) is above:
                return times
        return self._quotient(above, below)

    def _quotient(self, above: Whole, below: Whole) -> Size:
        key = (above, below)
        number = self._atoms.get(key)
        if number is None:
            number = self._atoms[key] = self._count + len(self._quotients)
            self._quotients.append(key)
            self._examples.append(_example(above) // _example(below))
        made = self._of({(number,): 1})
        assert type(made) is Size
        return made

    def _of(self, terms: Mapping[tuple[int, ...], int]) -> Whole:
        kept = tuple(sorted((atoms, factor) for atoms, factor in terms.items() if factor))
        if not kept:
            return 0
        if len(kept) == 1 and not kept[0][0]:
            return kept[0][1]
        made = self._made.get(kept)
        if made is None:
            example = _value(kept, self._examples)
            made = self._made[kept] = Size(self, kept, example)
        return made

    def _range(self, terms: Terms) -> _Range:
        known = self._ranges.get(terms)
        if known is None:
            known = self._ranges[terms] = _Range(self._least(terms))
        return known

    def _least(self, terms: Terms) -> int | None:
        """What a polynomial is at least, where that is seen without a look at the examples."""
        total = 0
        for atoms, factor in terms:
            if factor < 0 or any(atom >= self._count for atom in atoms):
                return None
            total += factor * LEAST ** len(atoms)
        return total


class Values:
    """What sizes of a scope are, for given unknowns."""

    def __init__(self, unknowns: Sequence[int]) -> None:
        self._atoms = list(unknowns)
        self._known: dict[Terms, int] = {}

    def add(self, above: Whole, below: Whole) -> None:
        """Compute the next quotient."""
        self._atoms.append(self.of(above) // self.of(below))

    def of(self, size: Whole) -> int:
        """What a size is; an integer is itself."""
        return self.of_terms(size.terms) if type(size) is Size else size

    def of_terms(self, terms: Terms) -> int:
        """What a polynomial is."""
        found = self._known.get(terms)
        if found is None:
            found = self._known[terms] = _value(terms, self._atoms)
        return found


def _terms(value: Whole) -> Terms:
    if type(value) is Size:
        return value.terms
    return (((), value),) if value else ()


def _example(value: Whole) -> int:
    return value.example if type(value) is Size else value


def _value(terms: Terms, atoms: Sequence[int]) -> int:
    return sum(factor * prod([atoms[atom] for atom in many]) for many, factor in terms)


def _split(terms: Terms) -> tuple[Terms, int, int, int]:
    """The terms without the number that is added, without what all factors have in common.

    Returns:
        These terms, the first of them positive; the number, with the sign that it then has; the
        common factor; and the sign that the terms had.
    """
    number = 0
    if not terms[0][0]:  # sorts before all others
        number, terms = terms[0][1], terms[1:]
    sign = 1 if terms[0][1] > 0 else -1
    common = gcd(*(factor for _, factor in terms)) * sign
    return tuple((a, f // common) for a, f in terms), sign * number, abs(common), sign


def _without(atoms: tuple[int, ...], gone: tuple[int, ...]) -> tuple[int, ...] | None:
    left = list(atoms)
    for atom in gone:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)
