// Products with packed weights of few bits, which have a scale for each block.
#include "bind_epilogue.h"
#include "kernels/products/block_gemm.h"

namespace headrace::cpu::bind {
namespace {

using Words = Array<std::uint32_t>;
using Bytes = Array<std::uint8_t>;

// `_native.BlockWeights`.
struct BlockWeightsArgs {
  Words panels;
  Floats scales;
  std::optional<Bytes> zeros;
  int bits;
  Size block;
};

// A block of more numbers could have a sum beyond 32 bits.
constexpr Size kMostRounded = 1 << 15;

// The parts of the memory in which a matrix is rounded.
RoundedRows RoundedIn(Bytes& memory, Size rows, const BlockWeights& weights) {
  const Size blocks = rows * weights.Blocks(), width = weights.block;
  if (width > kMostRounded) {
    throw py::value_error("block_matmul: block is " + std::to_string(width) + " but must be " +
                          std::to_string(kMostRounded) + " at most for what is rounded");
  }
  RequireShape("block_matmul", "rounded", memory, {blocks * (width + 8)});
  std::uint8_t* first = WritePointer("block_matmul", "rounded", memory);
  auto* scales = reinterpret_cast<float*>(first);
  auto* sums = reinterpret_cast<std::int32_t*>(first + 4 * blocks);
  RequireAligned("block_matmul", "rounded", scales);
  return {reinterpret_cast<std::int8_t*>(first + 8 * blocks), scales, sums};
}

// Weights of a matrix of these sides.
BlockWeights MakeWeights(const char* op, const BlockWeightsArgs& args, Size depth, Size columns) {
  if ((args.bits != 2 && args.bits != 4 && args.bits != 8) || args.block < 1 ||
      args.block > kLimit || args.block * args.bits % 32 != 0) {
    throw py::value_error(std::string(op) + ": bits is " + std::to_string(args.bits) +
                          " and block is " + std::to_string(args.block) +
                          " but must be 2, 4 or 8, and whole words");
  }
  BlockWeights weights{};
  weights.depth = depth;
  weights.columns = columns;
  weights.block = args.block;
  weights.bits = args.bits;
  const Size count = PanelCount(columns), blocks = weights.Blocks();
  RequireShape(op, "panels", args.panels, {count, blocks * weights.BlockWords(), kPanel});
  RequireShape(op, "scales", args.scales, {count, blocks, kPanel});
  weights.panels = reinterpret_cast<const std::int32_t*>(ReadPointer(op, "panels", args.panels));
  weights.scales = ReadPointer(op, "scales", args.scales);
  weights.zeros = ReadIfGiven(op, "zeros", args.zeros, {count, blocks, kPanel});
  return weights;
}

Launch BindBlockMatmul(const Floats& x, const BlockWeightsArgs& weights,
                       std::optional<Bytes>& rounded, Floats& y, const EpilogueArgs& epilogue) {
  constexpr const char* kOp = "block_matmul";
  if (x.ndim() < 1 || y.ndim() != x.ndim()) {
    throw py::value_error("block_matmul: x is " + Text(Shape(x)) + " but y is " + Text(Shape(y)));
  }
  const Size depth = x.shape(x.ndim() - 1), columns = y.shape(y.ndim() - 1);
  Dims made = Shape(x);
  made.back() = columns;
  RequireShape(kOp, "y", y, made);
  BlockProduct product{};
  product.weights = MakeWeights(kOp, weights, depth, columns);
  product.epilogue = MakeEpilogue(kOp, epilogue, y, columns);
  if (y.size() == 0) return {};
  product.x = ReadPointer(kOp, "x", x);
  product.rows = y.size() / columns;
  product.y = WritePointer(kOp, "y", y);
  const auto arrays = py::make_tuple(x, weights.panels, weights.scales, weights.zeros, rounded, y,
                                     epilogue.bias, epilogue.addend);
  if (!rounded) return {[product] { Multiply(product); }, arrays};
  const RoundedRows memory = RoundedIn(*rounded, product.rows, product.weights);
  return {[product, memory] { MultiplyRounded(product, memory); }, arrays};
}

}  // namespace

void RegisterBlockGemm(py::module_& m) {
  py::class_<BlockWeightsArgs>(m, "BlockWeights", "Packed weights of few bits.")
      .def(py::init<Words, Floats, std::optional<Bytes>, int, Size>(), py::arg("panels"),
           py::arg("scales"), py::arg("zeros"), py::arg("bits"), py::arg("block"));
  m.def("block_matmul", &BindBlockMatmul, py::arg("x"), py::arg("weights"), py::arg("rounded"),
        py::arg("y"), EpilogueArg());
}

}  // namespace headrace::cpu::bind
