// Memory of a launch that its caller gives, cut into what the launch needs.
#pragma once

#include "kernels/machine/sizes.h"

namespace headrace::cpu {

// Hands out pieces of floats, one behind the other. Where no memory is given it only counts: the
// function that cuts a scratch is so also the one that says how large it must be.
class ScratchPieces {
 public:
  explicit ScratchPieces(float* first) : first_(first) {}

  float* Take(Size floats) {
    float* piece = first_ == nullptr ? nullptr : first_ + floats_;
    floats_ += RoundUp(floats, kPiece);
    return piece;
  }

  template <class T>
  T* TakeAs(Size count) {
    return reinterpret_cast<T*>(Take(CeilDiv(count * Size{sizeof(T)}, Size{sizeof(float)})));
  }

  Size floats() const { return floats_; }  // of all pieces so far

 private:
  static constexpr Size kPiece = 16;  // floats of a vector: pieces are whole ones

  float* first_;
  Size floats_ = 0;
};

}  // namespace headrace::cpu
