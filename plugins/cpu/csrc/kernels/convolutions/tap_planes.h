// A padded, de-interleaved copy of one image, in which every tap of a window is a plain offset.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/windows/window.h"

namespace headrace::cpu {

// With stride s on an axis, neighbouring outputs read elements s apart. Here the elements that any
// one tap reads lie side by side instead: the image is split into phases (one for each remainder
// of tap * dilation by s that occurs), padding included. Then
//
//   input under tap t for output (od, oh, ow) == data[TapOffsets()[t] + od * DepthPitch()
//                                                     + oh * RowPitch() + ow]
//
// for any stride, dilation and padding, so a kernel over it needs no bounds check and no stride,
// and may run across row ends as one long loop. Filling costs one pass over the image. The memory
// is the caller's: `data` is T[Count()], zeroed before the first image is filled in.
template <class T>
class TapPlanes {
 public:
  explicit TapPlanes(const Window& w) : w_(w) {
    for (int axis = 0; axis < 3; ++axis) {
      for (Size k = 0; k < w.kernel[axis]; ++k) {
        const Size phase = k * w.dilation[axis] % w.stride[axis];
        const auto known = std::find(phases_[axis].begin(), phases_[axis].end(), phase);
        tap_phase_[axis].push_back(known - phases_[axis].begin());
        if (known == phases_[axis].end()) phases_[axis].push_back(phase);
      }
      const Size last_tap = (w.kernel[axis] - 1) * w.dilation[axis];
      size_[axis] = w.out[axis] + last_tap / w.stride[axis];
    }
    for (Size kd = 0; kd < w.kernel[0]; ++kd) {
      for (Size kh = 0; kh < w.kernel[1]; ++kh) {
        for (Size kw = 0; kw < w.kernel[2]; ++kw) {
          offsets_.push_back(PhaseOffset(tap_phase_[0][kd], tap_phase_[1][kh], tap_phase_[2][kw]) +
                             Steps(0, kd) * DepthPitch() + Steps(1, kh) * RowPitch() +
                             Steps(2, kw));
        }
      }
    }
  }

  Size Count() const {
    return static_cast<Size>(phases_[0].size() * phases_[1].size() * phases_[2].size()) *
           PhasePitch();
  }
  const std::vector<Size>& TapOffsets() const { return offsets_; }  // taps in row-major order
  Size RowPitch() const { return size_[2]; }
  Size DepthPitch() const { return size_[1] * size_[2]; }

  // Takes in an image of shape w.in. Padding is never written.
  HEADRACE_INLINE void Fill(const T* image, T* data) const {
    for (std::size_t pd = 0; pd < phases_[0].size(); ++pd) {
      const Range depth = Inside(0, pd);
      for (std::size_t ph = 0; ph < phases_[1].size(); ++ph) {
        const Range height = Inside(1, ph);
        for (std::size_t pw = 0; pw < phases_[2].size(); ++pw) {
          const Range width = Inside(2, pw);
          if (width.Count() == 0) continue;
          T* phase = data + PhaseOffset(pd, ph, pw) + width.begin;
          for (Size d = depth.begin; d < depth.end; ++d) {
            for (Size h = height.begin; h < height.end; ++h) {
              const Size row = Source(0, pd, d) * w_.in[1] + Source(1, ph, h);
              const T* from = image + row * w_.in[2] + Source(2, pw, width.begin);
              CopyStrided(from, phase + d * DepthPitch() + h * RowPitch(), width.Count());
            }
          }
        }
      }
    }
  }

 private:
  HEADRACE_INLINE void CopyStrided(const T* __restrict from, T* __restrict to, Size count) const {
    const Size stride = w_.stride[2];
    if (stride == 1) {
      for (Size i = 0; i < count; ++i) to[i] = from[i];
    } else if (stride == 2) {  // a constant stride lets the compiler load and shuffle
      for (Size i = 0; i < count; ++i) to[i] = from[2 * i];
    } else {
      for (Size i = 0; i < count; ++i) to[i] = from[stride * i];
    }
  }

  // How far tap k lies into its phase.
  Size Steps(int axis, Size k) const { return k * w_.dilation[axis] / w_.stride[axis]; }

  Size PhasePitch() const { return size_[0] * size_[1] * size_[2]; }

  Size PhaseOffset(Size pd, Size ph, Size pw) const {
    const Size heights = static_cast<Size>(phases_[1].size());
    const Size widths = static_cast<Size>(phases_[2].size());
    return ((pd * heights + ph) * widths + pw) * PhasePitch();
  }

  // The input position that element i of a phase holds.
  Size Source(int axis, std::size_t phase, Size i) const {
    return i * w_.stride[axis] + phases_[axis][phase] - w_.pad[axis];
  }

  // The elements of a phase that are not padding.
  Range Inside(int axis, std::size_t phase) const {
    return StepsWithin(Source(axis, phase, 0), w_.stride[axis], 0, w_.in[axis], size_[axis]);
  }

  Window w_;
  std::array<std::vector<Size>, 3> phases_;
  std::array<std::vector<Size>, 3> tap_phase_;  // index into phases_ for each tap
  std::array<Size, 3> size_;                    // of one phase
  std::vector<Size> offsets_;
};

}  // namespace headrace::cpu
