#include "kernels/images/non_max_suppression.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Boxes that are worth a part of their own: a part is at least a class.
constexpr Size kPartBoxes = 1 << 12;
// How many of the best boxes are sorted first; most that are chosen are among them.
constexpr Size kFirst = 64;
constexpr Size kMore = 4;  // times as many, each time

// A score and a place, as a number that is greater for what comes first: the greater score, or else
// the lower place. NaN comes last; zeros are equal whatever their sign.
std::uint64_t Rank(float score, std::uint32_t place) {
  const float value = score + 0.0f;
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  if (std::isnan(score)) bits = 0;
  return std::uint64_t{bits} << 32 | (~place & 0xffffffffu);
}

Size Place(std::uint64_t rank) { return static_cast<Size>(~rank & 0xffffffffu); }

// Top, left, bottom, right, area.
void Corners(const float* box, bool is_centred, float* to) {
  for (int axis = 0; axis < 2; ++axis) {
    const float a = box[axis], b = box[axis + 2];
    to[axis] = is_centred ? a - b / 2 : std::min(a, b);
    to[axis + 2] = is_centred ? a + b / 2 : std::max(a, b);
  }
  to[4] = (to[2] - to[0]) * (to[3] - to[1]);
}

struct Scratch {
  std::uint64_t* ranks;
  std::uint32_t* places;
  BoxColumns kept;
};

Size Choose(const NonMaxSuppression& s, const float* boxes, const float* scores, const Scratch& own,
            std::int32_t* chosen) {
  const NonMaxSuppressionTable& table = NonMaxSuppressions();
  Size count = s.boxes;
  if (s.least == -std::numeric_limits<float>::infinity()) {
    for (Size i = 0; i < count; ++i) own.ranks[i] = Rank(scores[i], static_cast<std::uint32_t>(i));
  } else {
    count = table.above(scores, s.boxes, s.least, own.places);
    for (Size i = 0; i < count; ++i) own.ranks[i] = Rank(scores[own.places[i]], own.places[i]);
  }
  Size kept = 0;
  Size sorted = 0;
  for (Size wanted = kFirst; sorted < count && kept < s.most; wanted *= kMore) {
    const Size end = std::min(count, sorted + wanted);
    const std::greater<> first;
    if (end < count)
      std::nth_element(own.ranks + sorted, own.ranks + end, own.ranks + count, first);
    std::sort(own.ranks + sorted, own.ranks + end, first);
    for (; sorted < end && kept < s.most; ++sorted) {
      const Size place = Place(own.ranks[sorted]);
      float box[5];
      Corners(boxes + 4 * place, s.is_centred, box);
      if (table.overlaps(own.kept, kept, box, s.overlap)) continue;
      for (int column = 0; column < 5; ++column) own.kept[column][kept] = box[column];
      chosen[kept++] = static_cast<std::int32_t>(place);
    }
  }
  return kept;
}

}  // namespace

void Suppress(const NonMaxSuppression& s, const float* boxes, const float* scores,
              std::int32_t* chosen, std::int32_t* counts) {
  const auto room = static_cast<std::size_t>(s.boxes);
  const auto most = static_cast<std::size_t>(s.most);
  const std::size_t bytes =
      room * sizeof(std::uint64_t) + 5 * most * sizeof(float) + room * sizeof(std::uint32_t);
  const Size grain = GrainOf(kPartBoxes, s.boxes);
  ParallelFor(s.batch * s.classes, grain, [&](Size begin, Size end) {
    auto* ranks = static_cast<std::uint64_t*>(ThreadScratch(bytes));
    auto* kept = reinterpret_cast<float*>(ranks + room);
    const Scratch own{ranks, reinterpret_cast<std::uint32_t*>(kept + 5 * most), {kept, s.most}};
    for (Size line = begin; line < end; ++line) {
      std::int32_t* to = chosen + line * s.most;
      const float* of_batch = boxes + line / s.classes * s.boxes * 4;
      const Size found = Choose(s, of_batch, scores + line * s.boxes, own, to);
      std::fill(to + found, to + s.most, -1);
      counts[line] = static_cast<std::int32_t>(found);
    }
  });
}

}  // namespace headrace::cpu
