// Virtual time: what a card of middling size would need. Notifiers measure it, so a timeline drawn
// on the stand-in has bars of plausible proportion and the same length on every run.
#pragma once

#include <algorithm>

namespace mlusim {

inline constexpr double kLaunchUs = 4.0;          // of any task
inline constexpr double kCardBytesPerUs = 300e3;  // 300 GB/s
inline constexpr double kLinkBytesPerUs = 12e3;   // 12 GB/s between host and card
inline constexpr double kCardOpsPerUs = 16e6;     // 16 T multiply or add per second

inline double ComputeUs(double bytes, double operations) {
  return kLaunchUs + std::max(bytes / kCardBytesPerUs, operations / kCardOpsPerUs);
}
inline double LinkUs(double bytes) { return kLaunchUs + bytes / kLinkBytesPerUs; }

}  // namespace mlusim
