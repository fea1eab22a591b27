#include "kernels/convolutions/im2col.h"

#include <cstddef>
#include <cstring>

namespace headrace::cpu {
namespace {

template <class T>
void Zero(T* begin, Size count) {
  if (count > 0) std::memset(begin, 0, static_cast<std::size_t>(count) * sizeof(T));
}

template <class T>
void Copy(const T* from, T* to, Size count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

// Calls visit(plane, tap_h, tap_w, column) for each column piece that one input plane fills, and
// skip(column) where the whole piece is padding. A piece is out[1] rows of out[2] elements.
template <class Image, class Column, class Visit, class Skip>
void ForEachPlane(Image* image, Column* column, Size channels, const Window& w, Visit visit,
                  Skip skip) {
  const Size plane = w.in[1] * w.in[2];
  const Size piece = w.out[1] * w.out[2];
  for (Size c = 0; c < channels; ++c, image += w.in[0] * plane) {
    for (Size kd = 0; kd < w.kernel[0]; ++kd) {
      const Range inside = OutputsInside(w, 0, kd);
      for (Size kh = 0; kh < w.kernel[1]; ++kh) {
        for (Size kw = 0; kw < w.kernel[2]; ++kw) {
          for (Size od = 0; od < w.out[0]; ++od, column += piece) {
            if (inside.Contains(od)) {
              visit(image + InputPosition(w, 0, od, kd) * plane, kh, kw, column);
            } else {
              skip(column);
            }
          }
        }
      }
    }
  }
}

// With stride 1 and rows of equal length, a piece is the plane moved by a constant: one long copy
// instead of one for each row. What the copy drags around the row ends is then zeroed.
template <class T>
void ShiftPlane(const T* plane, const Window& w, Range rows, Range columns, Size shift, T* piece) {
  const Size width = w.out[2];
  const Size first = rows.begin * width + columns.begin;
  const Size last = (rows.end - 1) * width + columns.end;
  Copy(plane + first + shift, piece + first, last - first);
  for (Size h = rows.begin; h < rows.end; ++h) {
    T* row = piece + h * width;
    for (Size i = 0; i < columns.begin; ++i) row[i] = T(0);
    for (Size i = columns.end; i < width; ++i) row[i] = T(0);
  }
}

template <class T>
void GatherPlane(const T* plane, const Window& w, Size kh, Size kw, T* piece) {
  const Size width = w.out[2];
  const Size stride = w.stride[2];
  const Range rows = OutputsInside(w, 1, kh);
  const Range columns = OutputsInside(w, 2, kw);
  if (rows.Count() == 0 || columns.Count() == 0) return Zero(piece, w.out[1] * width);

  Zero(piece, rows.begin * width);
  Zero(piece + rows.end * width, (w.out[1] - rows.end) * width);
  if (w.stride[1] == 1 && stride == 1 && w.in[2] == width) {
    const Size shift = InputPosition(w, 1, 0, kh) * width + InputPosition(w, 2, 0, kw);
    return ShiftPlane(plane, w, rows, columns, shift, piece);
  }
  for (Size h = rows.begin; h < rows.end; ++h) {
    const T* from =
        plane + InputPosition(w, 1, h, kh) * w.in[2] + InputPosition(w, 2, columns.begin, kw);
    T* row = piece + h * width;
    T* to = row + columns.begin;
    Zero(row, columns.begin);
    Zero(row + columns.end, width - columns.end);
    if (stride == 1) {
      Copy(from, to, columns.Count());
    } else if (stride == 2) {  // a constant stride lets the compiler load and shuffle
      for (Size i = 0; i < columns.Count(); ++i) to[i] = from[2 * i];
    } else {
      for (Size i = 0; i < columns.Count(); ++i) to[i] = from[stride * i];
    }
  }
}

template <class T>
void ScatterPlane(const T* __restrict piece, const Window& w, Size kh, Size kw,
                  T* __restrict plane) {
  const Size stride = w.stride[2];
  const Range rows = OutputsInside(w, 1, kh);
  const Range columns = OutputsInside(w, 2, kw);
  if (columns.Count() == 0) return;
  for (Size h = rows.begin; h < rows.end; ++h) {
    const T* from = piece + h * w.out[2] + columns.begin;
    T* to = plane + InputPosition(w, 1, h, kh) * w.in[2] + InputPosition(w, 2, columns.begin, kw);
    if (stride == 1) {
      for (Size i = 0; i < columns.Count(); ++i) to[i] += from[i];
    } else {
      for (Size i = 0; i < columns.Count(); ++i) to[stride * i] += from[i];
    }
  }
}

template <class T>
void Im2ColBody(const T* x, T* cols, Size channels, const Window& w) {
  ForEachPlane(
      x, cols, channels, w,
      [&](const T* plane, Size kh, Size kw, T* piece) { GatherPlane(plane, w, kh, kw, piece); },
      [&](T* piece) { Zero(piece, w.out[1] * w.out[2]); });
}

template <class T>
void Col2ImBody(const T* cols, T* y, Size channels, const Window& w) {
  Zero(y, channels * w.InCount());
  ForEachPlane(
      y, cols, channels, w,
      [&](T* plane, Size kh, Size kw, const T* piece) { ScatterPlane(piece, w, kh, kw, plane); },
      [](const T*) {});
}

}  // namespace

void Im2Col(const float* x, float* cols, Size channels, const Window& w) {
  Im2ColBody(x, cols, channels, w);
}
void Im2Col(const double* x, double* cols, Size channels, const Window& w) {
  Im2ColBody(x, cols, channels, w);
}
void Col2Im(const float* cols, float* y, Size channels, const Window& w) {
  Col2ImBody(cols, y, channels, w);
}
void Col2Im(const double* cols, double* y, Size channels, const Window& w) {
  Col2ImBody(cols, y, channels, w);
}

}  // namespace headrace::cpu
