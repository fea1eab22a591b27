// Copies and fills, by the host itself or as tasks.
#pragma once

#include <cstddef>

namespace mlusim {

enum class Direction {
  kHostToDevice = 0,
  kDeviceToDevice = 1,
  kDeviceToHost = 2,
  kHostToHost = 3,
  kPeerToPeer = 4,
  kFromPointers = 5,
};

// All take the lock themselves and throw what call.h expects.

void Copy(void* to, const void* from, std::size_t bytes, Direction direction);
void CopyAsync(void* to, const void* from, std::size_t bytes, Direction direction, void* queue);
void CopyPeer(void* to, int to_card, const void* from, int from_card, std::size_t bytes);
void CopyPeerAsync(void* to, int to_card, const void* from, int from_card, std::size_t bytes,
                   void* queue);
void Fill(void* to, unsigned char value, std::size_t bytes);
void FillAsync(void* to, unsigned char value, std::size_t bytes, void* queue);

// `rows` pieces of `width` bytes, the pitch being the distance of two in bytes.
struct Pitched {
  void* to;
  std::size_t to_pitch;
  const void* from;
  std::size_t from_pitch;
  std::size_t width, rows;
};
void Copy2D(const Pitched& copy, Direction direction);
void Copy2DAsync(const Pitched& copy, Direction direction, void* queue);

}  // namespace mlusim
