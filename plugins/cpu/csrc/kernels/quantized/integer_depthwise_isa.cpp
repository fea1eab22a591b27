#include "kernels/machine/byte_registers.h"
#include "kernels/machine/simd.h"
#include "kernels/quantized/byte_epilogue.h"
#include "kernels/quantized/integer_depthwise.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Sums of kBytes channels lie in four registers, in the order of the weights: see
// integer_depthwise.h.

constexpr int kInReg = kBytes / 4;                         // sums in a register
constexpr int kGroups = kBytes / kPanel;                   // of sixteen channels
constexpr int kSpread = static_cast<int>(kByteBlock) / 4;  // numbers between registers, in a block

// Calls `f` with each sixteen sums in the order of the channels, and the first of these.
template <class F>
HEADRACE_INLINE void InOrder(const Reg (&sum)[4], F f) {
  std::int32_t mixed[4][kInReg], ordered[kBytes];
  for (int k = 0; k < 4; ++k) StoreWhole(mixed[k], sum[k]);
  for (int l = 0; l < kGroups; ++l) {
    for (int k = 0; k < 4; ++k) {
      std::memcpy(ordered + 16 * l + 4 * k, mixed[k] + 4 * l, 4 * sizeof(std::int32_t));
    }
  }
  for (int l = 0; l < kGroups; ++l) f(LoadInt(ordered + kPanel * l), kPanel * l);
}

// Sums of `count` channels from c on, of the output whose first channel has number `output` in y.
__attribute__((noinline)) void Finish(const ByteDepthwise& d, const Reg (&sum)[4], Size output,
                                      Size c, int count) {
  const ByteEpilogue& e = d.epilogue;
  const Size begin = output + c;
  if (e.made == Made::kInt32) {
    auto* y = static_cast<std::int32_t*>(d.y) + begin;
    return InOrder(sum, [&](VI sums, int first) {
      if (first < count) StoreSome(y + first, sums, count - first);
    });
  }
  WithActivation(e.floats, [&](auto activate) HEADRACE_INLINE_LAMBDA {
    const auto each = [&](auto store) {
      InOrder(sum, [&](VI sums, int first) {
        if (first >= count) return;
        const float* addend =
            e.floats.addend == nullptr ? nullptr : e.floats.addend + begin + first;
        store(FloatsOf(e, sums, c + first, addend, count - first, activate), first, count - first);
      });
    };
    if (e.made == Made::kFloat) {
      auto* y = static_cast<float*>(d.y) + begin;
      return each([&](V v, int first, int some) { StoreSome(y + first, v, some); });
    }
    const Quantizer quantize(*e.y_scale, e.y_zero, e.made == Made::kInt8);
    auto* y = static_cast<std::uint8_t*>(d.y) + begin;
    each([&](V v, int first, int some) { StoreBytes(y + first, quantize(v), some); });
  });
}

// kBytes channels, of which `count` are there, of one output: taps begin at `starts`.
template <bool kZeros>
HEADRACE_INLINE void Sum(const PreparedDepthwise& p, const std::uint8_t* const* starts, Size taps,
                         Size output, Size c, int count) {
  const ByteDepthwise& d = p.conv;
  const Size block = c / kByteBlock, quads = Quads(taps);
  const Size place = block * kByteBlock + c % kByteBlock / 4;  // of register 0
  const std::int8_t* weights = d.panels + (block * quads * kByteBlock + c % kByteBlock / 4) * kQuad;
  const Reg flip = Fill8(d.item == Byte::kInt8 ? 128 : 0);
  Reg sum[4], plain[4];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    sum[k] = LoadWhole(p.added + place + k * kSpread);
    plain[k] = Reg{};
  }
  for (Size q = 0; q < quads; ++q, weights += kByteBlock * kQuad) {
    const std::uint8_t* const* four = starts + q * kQuad;
    const int real = static_cast<int>(taps - q * kQuad);
    Reg x[4];
    x[0] = LoadSomeBytes(four[0] + c, count) ^ flip;
#pragma GCC unroll 4
    for (int t = 1; t < 4; ++t) x[t] = t < real ? LoadSomeBytes(four[t] + c, count) ^ flip : x[0];
    const Reg low = Low8(x[0], x[1]), high = High8(x[0], x[1]);
    const Reg low_too = Low8(x[2], x[3]), high_too = High8(x[2], x[3]);
    const Reg quad[4] = {Low16(low, low_too), High16(low, low_too), Low16(high, high_too),
                         High16(high, high_too)};
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      sum[k] = MulAdd(quad[k], LoadWhole(weights + k * kSpread * kQuad), sum[k]);
    }
    if constexpr (kZeros) {
      const std::int32_t ones = real >= 4 ? 0x01010101 : (1 << (8 * real)) / 255;
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) plain[k] = MulAdd(quad[k], Reg{} + ones, plain[k]);
    }
  }
  if constexpr (kZeros) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      sum[k] = sum[k] - plain[k] * LoadWhole(p.weight_zeros + place + k * kSpread);
    }
  }
  if (p.bytes.factors == nullptr) {
    // A copy: sums whose address is known elsewhere would be put down in each step.
    const Reg all[4] = {sum[0], sum[1], sum[2], sum[3]};
    return Finish(d, all, output, c, count);
  }
  const float* factors = p.bytes.factors + place;
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k)
    sum[k] = Rounded(sum[k], factors + k * kSpread, p.bytes.low, p.bytes.high);
  const Reg zero = Fill16(p.bytes.zero);
  const Reg left = Add16(Pack32(sum[0], sum[1]), zero);
  const Reg right = Add16(Pack32(sum[2], sum[3]), zero);
  const Reg bytes = Pack16(left, right, d.epilogue.made == Made::kInt8);
  StoreSomeBytes(static_cast<std::uint8_t*>(d.y) + output + c, bytes, count);
}

// Where the taps of neighbouring outputs begin, and how far each is from that of the next output: 0
// for those that read zeros.
struct Taps {
  const std::uint8_t** starts;
  Size* steps;
  Size count;

  void Move(Size outputs) const {
    for (Size t = 0; t < count; ++t) starts[t] += steps[t] * outputs;
  }
};

// The taps of the output at `at`, whose window begins in column `first`.
void FindTaps(const PreparedDepthwise& p, const Position& at, Size first, const Taps& taps) {
  const ByteDepthwise& d = p.conv;
  const Window& w = d.window;
  Size tap = 0;
  for (Size kz = 0; kz < w.kernel[0]; ++kz) {
    const Size z = InputPosition(w, 0, at.z, kz);
    for (Size ky = 0; ky < w.kernel[1]; ++ky) {
      const Size y = InputPosition(w, 1, at.y, ky);
      const bool inside = z >= 0 && z < w.in[0] && y >= 0 && y < w.in[1];
      const std::uint8_t* row =
          d.x + (((at.n * w.in[0] + z) * w.in[1] + y) * w.in[2] + first) * d.channels;
      for (Size kx = 0; kx < w.kernel[2]; ++kx, ++tap) {
        const Size x = first + kx * w.dilation[2];
        const bool real = inside && x >= 0 && x < w.in[2];
        taps.starts[tap] = real ? row + kx * w.dilation[2] * d.channels : p.zeros;
        taps.steps[tap] = real ? w.stride[2] * d.channels : 0;
      }
    }
  }
}

// How many outputs of a line, from column `ox` on, read the same taps as the first: those whose
// windows have no column outside the image, or that one alone.
Size RunFrom(const Window& w, Size ox, Size first) {
  const Size reach = (w.kernel[2] - 1) * w.dilation[2];
  if (first < 0 || first + reach >= w.in[2]) return 1;
  const Size run = (w.in[2] - 1 - reach - first) / w.stride[2] + 1;
  return run < w.out[2] - ox ? run : w.out[2] - ox;
}

// `run` outputs that read the same taps; the first channel of the first has number `output` in y.
template <bool kZeros>
void SumRun(const PreparedDepthwise& p, const Taps& taps, Size run, Size output) {
  const Size channels = p.conv.channels;
  Size i = 0;
  if (p.conv.window.stride[2] == 1 && p.bytes.factors != nullptr) {
    const Size pixels = PixelsOfBlock(channels);
    for (; pixels > 1 && i + pixels <= run; i += pixels, output += kByteBlock) {
      for (Size b = 0; b < kByteBlock; b += kBytes) {
        Sum<kZeros>(p, taps.starts, taps.count, output, b, kBytes);
      }
      taps.Move(pixels);
    }
  }
  for (; i < run; ++i, output += channels) {
    Size c = 0;
    for (; c + kBytes <= channels; c += kBytes) {
      Sum<kZeros>(p, taps.starts, taps.count, output, c, kBytes);
    }
    if (c < channels) {
      Sum<kZeros>(p, taps.starts, taps.count, output, c, static_cast<int>(channels - c));
    }
    taps.Move(1);
  }
}

template <bool kZeros>
void Line(const PreparedDepthwise& p, Size line, const std::uint8_t** starts) {
  const Window& w = p.conv.window;
  const Size count = w.KernelCount();
  const Taps taps{starts, reinterpret_cast<Size*>(starts + Quads(count) * kQuad), count};
  const Position at = Position::At(w, line * w.out[2]);
  for (Size ox = 0; ox < w.out[2];) {
    const Size first = InputPosition(w, 2, ox, 0), run = RunFrom(w, ox, first);
    FindTaps(p, at, first, taps);
    SumRun<kZeros>(p, taps, run, (line * w.out[2] + ox) * p.conv.channels);
    ox += run;
  }
}

void Lines(const PreparedDepthwise& prepared, Size begin, Size end, const std::uint8_t** starts) {
  for (Size line = begin; line < end; ++line) {
    if (prepared.weight_zeros == nullptr) {
      Line<false>(prepared, line, starts);
    } else {
      Line<true>(prepared, line, starts);
    }
  }
}

}  // namespace

extern const ByteDepthwiseTable kByteDepthwiseLines = {Lines};

}  // namespace headrace::cpu::HEADRACE_ISA
