// What is known to happen before what. Real time proves nothing: a task that happens to be finished
// is still unordered with a host read that nobody made wait for it. So every access to memory is
// compared with the earlier ones by clocks, and a missing wait is found on every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace mlusim {

using QueueId = std::uint32_t;

// One task: the queue that it is in and its place there, counted from 1.
struct Stamp {
  QueueId queue = 0;
  std::uint64_t place = 0;
};

// For each queue, the last place that is known to be over.
class Clock {
 public:
  bool Covers(const Stamp& stamp) const;
  void Cover(const Stamp& stamp);
  void Join(const Clock& other);

 private:
  std::unordered_map<QueueId, std::uint64_t> places_;
};

// What the threads of the host, taken as one, have waited for. Call under the lock.
Clock& HostClock();

// One use of a range of a block by a task.
struct Access {
  std::size_t begin, end;
  bool writes;
  Stamp stamp;
  const char* call;
};

// The uses of one block that the host has not waited for yet. Call under the lock.
class Accesses {
 public:
  // The first earlier use that conflicts with a use of [begin, end) by something that comes after
  // `clock` and after everything in HostClock(); null if all is ordered.
  const Access* Conflict(std::size_t begin, std::size_t end, bool writes, const Clock& clock);
  void Add(const Access& access);

 private:
  std::vector<Access> pending_;
};

}  // namespace mlusim
