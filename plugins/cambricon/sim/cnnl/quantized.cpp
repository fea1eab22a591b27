#include "quantized.h"

#include <algorithm>

#include "export.h"
#include "values.h"

namespace mlusim::network {

Quantization Fit(float absmax, int bits, bool with_scale) {
  if (!(absmax > 0)) return {};
  // floor(log2()) without the rounding of a logarithm.
  const int position = std::ilogb(absmax) - (bits - 2);
  if (!with_scale) return {position, 1};
  const float highest = static_cast<float>((1 << (bits - 1)) - 1);
  return {position, std::ldexp(1.0f, position) * highest / absmax};
}

float Rounded(float value, int mode) {
  switch (mode) {
    case 1:
      return std::floor(value + 0.5f);
    case 2:
      return std::round(value);
    default:
      return std::nearbyint(value);
  }
}

std::vector<std::int64_t> Quantized(const std::vector<float>& values, Quantization by, int bits,
                                    int round_mode) {
  const float factor = std::ldexp(by.scale, -by.position);
  const float highest = static_cast<float>((1 << (bits - 1)) - 1);
  std::vector<std::int64_t> stored(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float rounded = Rounded(values[i] * factor, round_mode);
    stored[i] = std::isnan(rounded) ? 0 : std::llround(std::clamp(rounded, -highest - 1, highest));
  }
  return stored;
}

void RequireFactors(const Tensor& a, const Tensor& b, const Tensor& product) {
  for (const Tensor* tensor : {&a, &b}) {
    if (tensor->onchip_type != kInvalid && tensor->onchip_type != tensor->type) {
      throw Failure(Fault::kNotSupported, "conversion to an on-chip data type");
    }
    if (tensor->offset != 0) throw Failure(Fault::kNotSupported, "quantization with an offset");
    if (IsFixed(*tensor) && !tensor->quantized) {
      throw Misuse("quantization", Fault::kInvalidArgument,
                   "an int8 or int16 operand has neither position nor scale in its descriptor");
    }
  }
  if (IsFixed(a) || IsFixed(b)) {
    Op::RequireType(a, {kInt8, kInt16}, "the first factor");
    Op::RequireType(b, {kInt8, kInt16}, "the second factor");
    Op::RequireType(product, {kFloat, kHalf}, "the product");
    return;
  }
  Op::RequireType(a, kFloats, "the first factor");
  Op::RequireSameType(a, b);
  if (product.type != kFloat) Op::RequireSameType(a, product);
}

namespace {

float AbsMax(const std::vector<float>& values) {
  float highest = 0;
  for (const float value : values) highest = std::max(highest, std::fabs(value));
  return highest;
}

std::size_t Scratch(const Tensor& x) { return WorkspaceFor(x.Count() / 64 * 4); }

void QueryScratch(void* handle, void* x_desc, std::size_t* size) {
  const Op op(handle);
  Answer(size, Scratch(op.Describe(x_desc, "x")));
}

// Finds position and scale, writes both to memory of the card, and quantizes with them.
void Online(void* handle, bool with_offset, void* x_desc, const void* x, void* workspace,
            std::size_t bytes, void* position, void* scale, void* q_desc, void* q) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_desc, "x"), q_tensor = op.Describe(q_desc, "the output");
  Op::RequireType(x_tensor, {kFloat, kHalf}, "x");
  Op::RequireType(q_tensor, {kInt8, kInt16}, "the output");
  Op::RequireSameShape(x_tensor, q_tensor);
  if (with_offset) throw Failure(Fault::kNotSupported, "what the first bool does is not known");
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x");
  const Operand out_position = op.Write(VectorOf(kInt32, 1), position, "the position");
  const Operand out_scale = op.Write(VectorOf(kFloat, 1), scale, "the scale");
  const Operand out = op.Write(q_tensor, q, "the output");
  op.Workspace(workspace, bytes, Scratch(x_tensor));
  const int mode = op.library().round_mode, bits = BitsOfType(q_tensor.type);
  op.Enqueue(4.0 * x_tensor.Count(), [=] {
    const std::vector<float> values = Load<float>(in);
    const Quantization found = Fit(AbsMax(values), bits, true);
    Store(out_position, std::vector<std::int64_t>{found.position});
    Store(out_scale, std::vector<float>{found.scale});
    Store(out, Quantized(values, found, bits, mode));
  });
}

// cnnlQuantizeMode_t
enum Mode { kPosition = 0, kPositionAndScale = 1, kWithOffset = 2 };

void CheckMode(int mode) {
  if (mode == kWithOffset) throw Failure(Fault::kNotSupported, "quantization with an offset");
  Op::Require(mode == kPosition || mode == kPositionAndScale,
              Text(mode, " is no cnnlQuantizeMode_t"));
}

void Parameters(void* handle, int mode, void* x_desc, const void* x, int bits, void* workspace,
                std::size_t bytes, void* position, void* scale) {
  Op op(handle);
  CheckMode(mode);
  const Tensor x_tensor = op.Describe(x_desc, "x");
  Op::RequireType(x_tensor, {kFloat, kHalf}, "x");
  Op::Require(bits == 8 || bits == 16, Text("quantization to ", bits, " bits"));
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x");
  const Operand out_position = op.Write(VectorOf(kInt32, 1), position, "the position");
  Operand out_scale;
  if (mode == kPositionAndScale) out_scale = op.Write(VectorOf(kFloat, 1), scale, "the scale");
  op.Workspace(workspace, bytes, Scratch(x_tensor));
  op.Enqueue(2.0 * x_tensor.Count(), [=] {
    const Quantization found = Fit(AbsMax(Load<float>(in)), bits, mode == kPositionAndScale);
    Store(out_position, std::vector<std::int64_t>{found.position});
    if (out_scale.data) Store(out_scale, std::vector<float>{found.scale});
  });
}

// With what the output's descriptor says.
void Offline(void* handle, int mode, void* x_desc, const void* x, void* q_desc, void* q) {
  Op op(handle);
  CheckMode(mode);
  const Tensor x_tensor = op.Describe(x_desc, "x"), q_tensor = op.Describe(q_desc, "the output");
  Op::RequireType(x_tensor, {kFloat, kHalf}, "x");
  Op::RequireType(q_tensor, {kInt8, kInt16}, "the output");
  Op::RequireSameShape(x_tensor, q_tensor);
  if (!q_tensor.quantized) {
    throw Misuse("quantization", Fault::kInvalidArgument,
                 "the output's descriptor has neither position nor scale");
  }
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), out = op.Write(q_tensor, q, "the output");
  const Quantization by{q_tensor.position, mode == kPosition ? 1 : q_tensor.scale};
  const int rounding = op.library().round_mode, bits = BitsOfType(q_tensor.type);
  op.Enqueue(2.0 * x_tensor.Count(),
             [=] { Store(out, Quantized(Load<float>(in), by, bits, rounding)); });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlGetQuantifyOnlineWorkspaceSize, (void* handle, void* x_desc, std::size_t* size),
            QueryScratch(handle, x_desc, size))
MLUSIM_CNNL(cnnlQuantifyOnline,
            (void* handle, bool with_offset, void* x_desc, const void* x, void* workspace,
             std::size_t bytes, void* position, void* scale, void* q_desc, void* q),
            Online(handle, with_offset, x_desc, x, workspace, bytes, position, scale, q_desc, q))
MLUSIM_CNNL(cnnlGetQuantizeParamWorkspaceSize, (void* handle, void* x_desc, std::size_t* size),
            QueryScratch(handle, x_desc, size))
MLUSIM_CNNL(cnnlQuantizeParam,
            (void* handle, int mode, void* x_desc, const void* x, int bits, void* workspace,
             std::size_t bytes, void* position, void* scale, void*),
            Parameters(handle, mode, x_desc, x, bits, workspace, bytes, position, scale))
MLUSIM_CNNL(cnnlQuantizeV1,
            (void* handle, int mode, void* x_desc, const void* x, void* q_desc, void* q),
            Offline(handle, mode, x_desc, x, q_desc, q))
