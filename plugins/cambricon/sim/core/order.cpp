#include "order.h"

#include <algorithm>

namespace mlusim {

bool Clock::Covers(const Stamp& stamp) const {
  const auto found = places_.find(stamp.queue);
  return found != places_.end() && stamp.place <= found->second;
}

void Clock::Cover(const Stamp& stamp) {
  std::uint64_t& place = places_[stamp.queue];
  place = std::max(place, stamp.place);
}

void Clock::Join(const Clock& other) {
  for (const auto& [queue, place] : other.places_) Cover({queue, place});
}

Clock& HostClock() {
  static Clock& clock = *new Clock;
  return clock;
}

const Access* Accesses::Conflict(std::size_t begin, std::size_t end, bool writes,
                                 const Clock& clock) {
  const Clock& host = HostClock();
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(),
                                [&](const Access& access) { return host.Covers(access.stamp); }),
                 pending_.end());
  for (const Access& access : pending_) {
    const bool overlap = access.begin < end && begin < access.end;
    if (overlap && (writes || access.writes) && !clock.Covers(access.stamp)) return &access;
  }
  return nullptr;
}

void Accesses::Add(const Access& added) {
  // A later use in the same queue that covers an earlier one, and is not weaker, stands for both.
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(),
                                [&](const Access& access) {
                                  return access.stamp.queue == added.stamp.queue &&
                                         added.begin <= access.begin && access.end <= added.end &&
                                         (added.writes || !access.writes);
                                }),
                 pending_.end());
  pending_.push_back(added);
}

}  // namespace mlusim
