"""Numbers of enumerators: known, read from a header, or refused."""

from __future__ import annotations

import pytest

from headrace_cambricon import enums
from headrace_cambricon.errors import LibraryError

HEADER = """
typedef enum {
  CNNL_SOFTMAX_FAST = 0, /*!< fast */
  CNNL_SOFTMAX_ACCURATE = 1,
  CNNL_SOFTMAX_LOG, // counted on
  CNNL_OTHER = CNNL_SOFTMAX_ACCURATE,
  CNNL_SHIFTED = 1 << 4,
  CNNL_BEHIND,
} cnnlSoftmaxAlgorithm_t;
cnnlStatus_t CNNL_WIN_API cnnlSet(const int a[], /* the
 second */ int b);
"""


def test_a_header_is_read() -> None:
    """Values, counted ones and names of others; an expression, and what counts on it, is not."""
    assert enums.enumerators(HEADER) == {
        "CNNL_SOFTMAX_FAST": 0,
        "CNNL_SOFTMAX_ACCURATE": 1,
        "CNNL_SOFTMAX_LOG": 2,
        "CNNL_OTHER": 1,
    }
    assert enums.parameters(HEADER, "cnnlSet") == 2
    assert enums.parameters(HEADER, "cnnlGet") is None


def test_the_stand_in_tells_its_own_numbers() -> None:
    """And those that headers have shown are the same everywhere."""
    assert enums.number_of("CNNL_SOFTMAX_ACCURATE") >= 1000
    assert enums.number_of("CNNL_REDUCE_MAX") == 3


def test_what_nobody_has_said_is_refused() -> None:
    """No number is guessed; the message says where a header is looked for."""
    with pytest.raises(LibraryError, match="CNNL_UNHEARD_OF is not known"):
        enums.number_of("CNNL_UNHEARD_OF")


def test_without_a_header_kernels_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the vendor's library: the kernel's own words name the enumerator."""
    from headrace_cambricon.kernels import match

    monkeypatch.setattr(match, "find", lambda name: None if "RELU" in name else 0)
    takes = match.Takes(("float32",), (), ("CNNL_ACTIVATION_RELU",))
    assert "number of CNNL_ACTIVATION_RELU" in str(takes)
