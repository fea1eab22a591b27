"""Write a file that compiles only if the tables of functions fit the SDK's headers.

``python abi_check.py INCLUDE_FOLDER OUTPUT.cpp``: CMake calls it where there are headers. Functions
and enumerators that these do not name are of other releases, and are passed over: what a library
lacks is seen when it is opened.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
HEADERS = ("cnrt.h", "cnnl_core.h", "cnnl.h", "cnnl_extra.h")

_LINE = re.compile(
    r"^(?:CNRT\([^,]*, (?P<runtime>\w+), .*?, |CNNL(?:_NEEDED)?\((?P<network>\w+), "
    r"|CNNL_SHAPE\(\w+, (?P<shape>\w+), )(?P<parameters>\(.*\))\)$"
)
_NUMBER = re.compile(r'"(CNNL_\w+)": (\d+)')

_BEGIN = """\
#include <type_traits>

namespace {

// What a caller and a callee must agree on: pointers are pointers, and numbers have one size.
template <typename A, typename B>
constexpr bool kPasses = std::is_pointer_v<A> == std::is_pointer_v<B> &&
                         std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
                         sizeof(A) == sizeof(B);

template <typename Table, typename Header>
constexpr bool kFits = false;
template <typename R, typename... A, typename S, typename... B>
constexpr bool kFits<R(A...), S(B...)> = [] {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return (kPasses<A, B> && ...);
  } else {
    return false;
  }
}();

}  // namespace

namespace headrace::cambricon {
"""


def functions() -> dict[str, list[str]]:
    """The parameters of each function of the tables; several lists where releases differ."""
    found: dict[str, list[str]] = {}
    for table in ("cnrt.inc", "cnnl.inc"):
        for line in (HERE / "api" / table).read_text().splitlines():
            if match := _LINE.match(line):
                name = match["runtime"] or match["network"] or match["shape"]
                found.setdefault(name, []).append(match["parameters"])
    return found


def numbers() -> dict[str, int]:
    """The enumerators whose numbers are relied upon without a header."""
    text = (HERE.parent / "src/headrace_cambricon/enums.py").read_text()
    return {name: int(number) for name, number in _NUMBER.findall(text)}


def source(include: Path) -> str:
    """What is to be compiled, with ``include`` among the folders of headers."""
    there = [name for name in HEADERS if (include / name).is_file()]
    text = "\n".join((include / name).read_text("utf-8", "replace") for name in there)
    lines = [f"#include <{name}>" for name in there]
    lines += ["", f'#include "{HERE.as_posix()}/api/types.h"', _BEGIN]
    for name, shapes in functions().items():
        if re.search(rf"\b{name}\s*\(", text):
            fits = " || ".join(f"kFits<void{shape}, decltype(::{name})>" for shape in shapes)
            lines.append(f'static_assert({fits}, "{name}: its header has other parameters");')
    for name, number in numbers().items():
        if re.search(rf"\b{name}\b", text):
            said = f"{name}: its header has another number than {number}"
            lines.append(f'static_assert(static_cast<int>(::{name}) == {number}, "{said}");')
    return "\n".join([*lines, "", "}  // namespace headrace::cambricon", ""])


if __name__ == "__main__":
    folder, output = map(Path, sys.argv[1:])
    output.write_text(source(folder))
