#include "kernels/machine/vmath.h"
#include "kernels/sequences/recurrent.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Calls f(place, count) for vectors that cover `length`.
template <class F>
HEADRACE_INLINE void Cover(Size length, F f) {
  for (Size i = 0; i < length; i += kWidth) f(i, VectorCount(length - i));
}

void LstmCell(const float* gates, float* c, float* h, Size batch, Size hidden) {
  for (Size row = 0; row < batch; ++row, gates += 4 * hidden, c += hidden, h += hidden) {
    Cover(hidden, [&](Size i, int count) HEADRACE_INLINE_LAMBDA {
      const V in = FullSigmoid(LoadFirst(gates + i, count));
      const V out = FullSigmoid(LoadFirst(gates + hidden + i, count));
      const V keep = FullSigmoid(LoadFirst(gates + 2 * hidden + i, count));
      const V fresh = Tanh(LoadFirst(gates + 3 * hidden + i, count));
      const V state = keep * LoadFirst(c + i, count) + in * fresh;
      StoreFirst(c + i, state, count);
      StoreFirst(h + i, out * Tanh(state), count);
    });
  }
}

void GruReset(float* gates, const float* h, Size batch, Size hidden) {
  for (Size row = 0; row < batch; ++row, gates += 3 * hidden, h += hidden) {
    Cover(hidden, [&](Size i, int count) HEADRACE_INLINE_LAMBDA {
      StoreFirst(gates + i, FullSigmoid(LoadFirst(gates + i, count)), count);
      const V reset = FullSigmoid(LoadFirst(gates + hidden + i, count));
      StoreFirst(gates + hidden + i, reset * LoadFirst(h + i, count), count);
    });
  }
}

HEADRACE_INLINE V Mixed(V z, V fresh, V before) {
  return (Broadcast(1.0f) - z) * fresh + z * before;
}

void GruState(const float* gates, const float* before, float* h, Size batch, Size hidden) {
  for (Size row = 0; row < batch; ++row) {
    Cover(hidden, [&](Size i, int count) HEADRACE_INLINE_LAMBDA {
      const V fresh = Tanh(LoadFirst(gates + 2 * hidden + i, count));
      StoreFirst(h + i, Mixed(LoadFirst(gates + i, count), fresh, LoadFirst(before + i, count)),
                 count);
    });
    gates += 3 * hidden;
    before += hidden;
    h += hidden;
  }
}

void GruLinear(const float* drive, const float* products, const float* before, float* h, Size batch,
               Size hidden) {
  for (Size row = 0; row < batch; ++row) {
    Cover(hidden, [&](Size i, int count) HEADRACE_INLINE_LAMBDA {
      const auto sum = [&](int gate) {
        return LoadFirst(drive + gate * hidden + i, count) +
               LoadFirst(products + gate * hidden + i, count);
      };
      const V z = FullSigmoid(sum(0)), reset = FullSigmoid(sum(1));
      const V fresh = Tanh(LoadFirst(drive + 2 * hidden + i, count) +
                           reset * LoadFirst(products + 2 * hidden + i, count));
      StoreFirst(h + i, Mixed(z, fresh, LoadFirst(before + i, count)), count);
    });
    drive += 3 * hidden;
    products += 3 * hidden;
    before += hidden;
    h += hidden;
  }
}

void TanhAll(float* h, Size count) {
  Cover(count, [&](Size i, int some) HEADRACE_INLINE_LAMBDA {
    StoreFirst(h + i, Tanh(LoadFirst(h + i, some)), some);
  });
}

void ReluAll(float* h, Size count) {
  Cover(count, [&](Size i, int some) HEADRACE_INLINE_LAMBDA {
    StoreFirst(h + i, AtLeast(LoadFirst(h + i, some), Broadcast(0.0f)), some);
  });
}

}  // namespace

extern const RecurrentTable kRecurrentCells = {LstmCell,  GruReset, GruState,
                                               GruLinear, TanhAll,  ReluAll};

}  // namespace headrace::cpu::HEADRACE_ISA
