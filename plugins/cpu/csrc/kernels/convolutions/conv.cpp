#include "kernels/convolutions/conv.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/machine/address.h"
#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Channels from which every tap is a run of its own. With fewer, the taps of a row are one run,
// over a copy of the image with its padding.
constexpr Size kTapChannels = 12;

// Where one run of each row of a tile begins, `offset` floats from the corner of its window. For as
// many rows as there may be, so that it is a few vector additions; those beyond the tile's are not
// read.
void Spread(const std::uintptr_t (&corners)[kMostRows], Size offset, const float** starts) {
  auto* to = reinterpret_cast<std::uintptr_t*>(starts);
  for (int i = 0; i < kMostRows; ++i) to[i] = Moved(corners[i], offset);
}

// Rows of a product that are the windows of an image: `segments` runs each, one for each tap or,
// when a row of taps lies together, one for each row of taps.
struct Windows {
  const float* x;  // the first channel of the group
  Window w;
  Size channels;             // of the image, all groups
  std::array<Size, 3> taps;  // runs on each axis: the kernel, or 1 on the last axis
  bool padded;
  std::vector<Size> offsets;  // of each run from the first one, for windows that lie inside
  const float* zeros;         // a run of them, for taps outside

  void Fill(Size first, int count, const float** starts) const {
    std::uintptr_t corners[kMostRows] = {};
    Position at = Position::At(w, first);
    bool outside[kMostRows] = {}, any_outside = false;
    for (int i = 0; i < count; ++i, at.Next(w)) {
      const Size z = at.z * w.stride[0] - w.pad[0];
      const Size y = at.y * w.stride[1] - w.pad[1];
      const Size column = at.x * w.stride[2] - w.pad[2];
      const Size corner = ((at.n * w.in[0] + z) * w.in[1] + y) * w.in[2] + column;
      corners[i] = Moved(Address(x), corner * channels);
      outside[i] = padded && !(Inside(z, 0) && Inside(y, 1) && Inside(column, 2));
      any_outside = any_outside || outside[i];
    }
    for (std::size_t s = 0; s < offsets.size(); ++s) {
      Spread(corners, offsets[s], starts + s * kMostRows);
    }
    if (!any_outside) return;
    at = Position::At(w, first);
    for (int i = 0; i < count; ++i, at.Next(w)) {
      if (outside[i]) {
        HideOutside(at.z * w.stride[0] - w.pad[0], at.y * w.stride[1] - w.pad[1],
                    at.x * w.stride[2] - w.pad[2], starts + i);
      }
    }
  }

  bool Inside(Size begin, int axis) const {
    return begin >= 0 && begin + (w.kernel[axis] - 1) * w.dilation[axis] < w.in[axis];
  }

  // Lets taps outside the image read zeros.
  void HideOutside(Size z, Size y, Size column, const float** starts) const {
    for (Size i = 0; i < taps[0]; ++i) {
      const bool z_inside = Holds(z + i * w.dilation[0], 0);
      for (Size j = 0; j < taps[1]; ++j) {
        const bool row_inside = z_inside && Holds(y + j * w.dilation[1], 1);
        for (Size k = 0; k < taps[2]; ++k, starts += kMostRows) {
          if (!row_inside || !Holds(column + k * w.dilation[2], 2)) *starts = zeros;
        }
      }
    }
  }

  bool Holds(Size at, int axis) const { return at >= 0 && at < w.in[axis]; }
};

void FillWindows(const void* source, Size first, int count, const float** starts) {
  static_cast<const Windows*>(source)->Fill(first, count, starts);
}

std::vector<Size> Offsets(const Window& w, const std::array<Size, 3>& taps, Size channels) {
  std::vector<Size> offsets;
  for (Size i = 0; i < taps[0]; ++i) {
    for (Size j = 0; j < taps[1]; ++j) {
      for (Size k = 0; k < taps[2]; ++k) {
        const Size plane = i * w.dilation[0] * w.in[1] + j * w.dilation[1];
        offsets.push_back((plane * w.in[2] + k * w.dilation[2]) * channels);
      }
    }
  }
  return offsets;
}

// One product, of several groups or one, over rows that are read where they lie.
class InPlaceConv : public Conv {
 public:
  InPlaceConv(const ConvShape& shape, const float* x, const Panels& panels, float* y,
              const Epilogue& epilogue, bool rows_of_taps)
      : zeros_(static_cast<std::size_t>(shape.channels)) {
    const Window& w = shape.window;
    const Size channels = shape.channels / shape.groups, outputs = shape.outputs / shape.groups;
    const Size count = shape.n * w.OutCount(), depth = channels * w.KernelCount();
    std::array<Size, 3> taps = w.kernel;
    if (rows_of_taps) taps[2] = 1;
    bool pointwise = w.KernelCount() == 1;
    for (int axis = 0; axis < 3; ++axis) {
      pointwise = pointwise && w.stride[axis] == 1 && w.pad[axis] == 0 && w.in[axis] == w.out[axis];
    }
    Rows rows;
    if (pointwise) {
      dense_ = {x, shape.channels};
      rows = MakeRows(&dense_, count, depth);
    } else {
      windows_ = {x,
                  w,
                  shape.channels,
                  taps,
                  !rows_of_taps,
                  Offsets(w, taps, shape.channels),
                  zeros_.data()};
      const Size segments = taps[0] * taps[1] * taps[2];
      const float* zeros = rows_of_taps ? nullptr : zeros_.data();
      rows = {FillWindows, &windows_, count, segments, depth / segments, zeros};
    }
    product_ = {rows,     panels.first, outputs,      y,       shape.outputs,
                epilogue, panels.item,  shape.groups, channels};
  }

  void Run() const override { Multiply(&product_, 1); }

 private:
  std::vector<float> zeros_;
  Windows windows_{};
  DenseRows dense_{};
  Product product_{};
};

// A part of the output at a time, over a copy of what it reads: with the padding, rows of taps lie
// together. For images of few channels.
class PaddedConv : public Conv {
 public:
  PaddedConv(const ConvShape& shape, const float* x, const Panels& panels, float* y,
             const Epilogue& epilogue)
      : shape_(shape), x_(x), panels_(panels), y_(y), epilogue_(epilogue) {
    const Window& w = shape.window;
    // Parts of a row when rows are long, some rows when they are short.
    const Size pieces = std::max<Size>(1, w.out[2] / kPartPositions);
    width_ = CeilDiv(w.out[2], pieces);
    pieces_ = CeilDiv(w.out[2], width_);
    height_ = pieces_ > 1 ? 1 : std::clamp<Size>(kPartPositions / width_, 1, w.out[1]);
    bands_ = CeilDiv(w.out[1], height_);
  }

  void Run() const override {
    const Size parts = shape_.n * shape_.window.out[0] * bands_ * pieces_;
    ParallelFor(parts, 1, [&](Size begin, Size end) {
      for (Size part = begin; part < end; ++part) RunPart(PartAt(part));
    });
  }

 private:
  static constexpr Size kPartPositions = 288;

  // The copy that a part reads: [planes][lines][columns][channels].
  struct Copy {
    const float* first;
    Size line;    // floats of a line
    Size plane;   // and of a plane
    Size width;   // positions of a row of the part
    Size across;  // floats from a position to the next one
    Size down;    // and from a row to the next one
    Size rows;    // taps of a plane, on the middle axis
    Size segments;
  };

  static void FillCopy(const void* source, Size first, int count, const float** starts) {
    const auto& copy = *static_cast<const Copy*>(source);
    std::uintptr_t corners[kMostRows] = {};
    Size row = first / copy.width, column = first % copy.width;
    for (int i = 0; i < count; ++i) {
      corners[i] = Address(copy.first + row * copy.down + column * copy.across);
      if (++column == copy.width) {
        column = 0;
        ++row;
      }
    }
    Size s = 0;
    for (Size plane = 0; s < copy.segments; ++plane) {
      for (Size line = 0; line < copy.rows; ++line, ++s) {
        Spread(corners, plane * copy.plane + line * copy.line, starts + s * kMostRows);
      }
    }
  }

  // Some rows of the output, or a piece of one.
  struct Part {
    Size n, z, y, x;  // where it begins
    Size height, width;
  };

  Part PartAt(Size part) const {
    const Window& w = shape_.window;
    const Size piece = part % pieces_, band = part / pieces_ % bands_;
    const Size plane = part / pieces_ / bands_;
    const Size x = piece * width_, y = band * height_;
    return {plane / w.out[0],
            plane % w.out[0],
            y,
            x,
            std::min(y + height_, w.out[1]) - y,
            std::min(x + width_, w.out[2]) - x};
  }

  void RunPart(const Part& part) const {
    const Window& w = shape_.window;
    const Size channels = shape_.channels, outputs = shape_.outputs;
    // Lines between those that dilated taps read are copied as well: there are few.
    const Size columns = (part.width - 1) * w.stride[2] + w.kernel[2];
    const Size lines = (part.height - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] + 1;
    Copy copy;
    copy.line = columns * channels * w.dilation[1];
    copy.plane = lines * columns * channels;
    copy.width = part.width;
    copy.across = w.stride[2] * channels;
    copy.down = w.stride[1] * columns * channels;
    copy.rows = w.kernel[1];
    copy.segments = w.kernel[0] * w.kernel[1];
    const std::size_t bytes = static_cast<std::size_t>(w.kernel[0] * copy.plane) * sizeof(float);
    const std::size_t start_bytes =
        static_cast<std::size_t>(copy.segments * kMostRows) * sizeof(const float*);
    auto* memory = static_cast<char*>(ThreadScratch(start_bytes + bytes));
    auto* to = reinterpret_cast<float*>(memory + start_bytes);
    copy.first = to;
    FillPart(part, lines, columns, to);

    const Size positions = part.width * part.height;
    const Size first = ((part.n * w.out[0] + part.z) * w.out[1] + part.y) * w.out[2] + part.x;
    Product product{{FillCopy, &copy, positions, copy.segments, w.kernel[2] * channels},
                    panels_.first,
                    outputs,
                    y_ + first * outputs,
                    outputs,
                    epilogue_,
                    panels_.item};
    if (epilogue_.addend != nullptr) product.epilogue.addend += first * outputs;
    Gemm().block(product, 0, positions, 0, PanelCount(outputs),
                 reinterpret_cast<const float**>(memory));
  }

  // What the part reads, with zeros outside the image: [kernel[0]][lines][columns][channels].
  void FillPart(const Part& part, Size lines, Size columns, float* to) const {
    const Window& w = shape_.window;
    const Size channels = shape_.channels;
    const Size left = part.x * w.stride[2] - w.pad[2];
    const Size inside_begin = std::clamp<Size>(-left, 0, columns);
    const Size inside_end = std::clamp<Size>(w.in[2] - left, inside_begin, columns);
    for (Size i = 0; i < w.kernel[0]; ++i) {
      const Size plane = InputPosition(w, 0, part.z, i);
      for (Size j = 0; j < lines; ++j, to += columns * channels) {
        const Size line = part.y * w.stride[1] + j - w.pad[1];
        const bool inside = plane >= 0 && plane < w.in[0] && line >= 0 && line < w.in[1];
        const Size begin = inside ? inside_begin : columns, end = inside ? inside_end : columns;
        std::fill(to, to + begin * channels, 0.0f);
        if (end > begin) {
          const Size row = (part.n * w.in[0] + plane) * w.in[1] + line;
          const float* from = x_ + (row * w.in[2] + left + begin) * channels;
          std::memcpy(to + begin * channels, from,
                      static_cast<std::size_t>((end - begin) * channels) * sizeof(float));
        }
        std::fill(to + end * channels, to + columns * channels, 0.0f);
      }
    }
  }

  ConvShape shape_;
  const float* x_;
  Panels panels_;
  float* y_;
  Epilogue epilogue_;
  Size width_, pieces_;  // of a part, and parts in a row
  Size height_, bands_;  // rows of a part, and parts in a plane
};

// True when no window reads beyond the image.
bool StaysInside(const Window& w) {
  for (int axis = 0; axis < 3; ++axis) {
    const Size last =
        (w.out[axis] - 1) * w.stride[axis] + (w.kernel[axis] - 1) * w.dilation[axis] - w.pad[axis];
    if (w.pad[axis] > 0 || last >= w.in[axis]) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<Conv> MakeConv(const ConvShape& shape, const float* x, const Panels& panels,
                               float* y, const Epilogue& epilogue) {
  const Window& w = shape.window;
  const bool rows_of_taps =
      shape.groups == 1 && w.dilation[2] == 1 && shape.channels < kTapChannels;
  if (rows_of_taps && !StaysInside(w)) {
    return std::make_unique<PaddedConv>(shape, x, panels, y, epilogue);
  }
  return std::make_unique<InPlaceConv>(shape, x, panels, y, epilogue, rows_of_taps);
}

}  // namespace headrace::cpu
