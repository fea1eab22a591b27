#include "own_processor.h"

#if defined(__linux__)

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <bitset>
#include <chrono>

#include "processor.h"

namespace headrace::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than a thread needs to begin a scope and move.
constexpr auto kLongTurn = std::chrono::microseconds(500);

// Of the time of launches, turns of others are a few hundredths then.
constexpr auto kRest = std::chrono::milliseconds(100);

// How many scopes have a processor.
std::array<std::atomic<int>, CPU_SETSIZE> takers{};

// How many scopes began on a processor, up to now.
std::array<std::atomic<unsigned>, CPU_SETSIZE> begun{};

thread_local OwnProcessor* scope = nullptr;

// Whose scope began last: the address of its `scope`, which tells threads apart.
std::atomic<OwnProcessor**> last_begun{nullptr};

// When others are next let before.
std::atomic<Clock::rep> rests_until{0};

// A child has this memory and no thread but the one that forked, which is in no scope: those of
// others never end there.
[[maybe_unused]] const int watched = pthread_atfork(nullptr, nullptr, [] {
  for (auto& count : takers) count.store(0);
  last_begun.store(nullptr);
});

// A processor that nobody has and the caller may use, with the caller on it; else -1. One of a core
// that nobody has, if there is one, and of those the next after `here`: likely near it, and not the
// one that every process would take first.
int MoveToFree(int here) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  std::bitset<CPU_SETSIZE> cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (takers[i].load() > 0) cores.set(static_cast<std::size_t>(CoreOf(i)));
  }
  for (const bool whole : {true, false}) {
    for (int k = 1; k < CPU_SETSIZE; ++k) {
      const int i = (here + k) % CPU_SETSIZE;
      int nobody = 0;
      if (!CPU_ISSET(i, &allowed) || (whole && cores[static_cast<std::size_t>(CoreOf(i))]) ||
          !takers[i].compare_exchange_strong(nobody, 1)) {
        continue;
      }
      if (MoveTo(i)) return i;
      takers[i].fetch_sub(1);
    }
  }
  return -1;
}

// Lets threads before that wait for this processor. If one had it for long and began no scope here,
// it is at work that has nothing to do with launches: then nobody is let before for a while, or
// each launch would cost a turn of whatever else runs here.
void LetOthersBefore(int here) {
  const auto begin = Clock::now();
  if (begin.time_since_epoch().count() < rests_until.load(std::memory_order_relaxed)) return;
  const unsigned before = begun[here].load();
  sched_yield();
  const auto end = Clock::now();
  if (end - begin < kLongTurn || begun[here].load() != before) return;
  rests_until.store((end + kRest).time_since_epoch().count(), std::memory_order_relaxed);
}

bool IsCounted(int processor) { return processor >= 0 && processor < CPU_SETSIZE; }

}  // namespace

// A thread that waits for this processor may be about to begin a scope, and can only move when it
// runs: it is let before, once, and by nobody who is alone in launching.
OwnProcessor::OwnProcessor() {
  const int here = CurrentProcessor();
  if (!IsCounted(here)) return;
  scope = this;
  begun[here].fetch_add(1);
  Settle(here);
  if (last_begun.exchange(&scope) != &scope) LetOthersBefore(taken_);
}

OwnProcessor::~OwnProcessor() {
  if (taken_ >= 0) takers[taken_].fetch_sub(1);
  scope = nullptr;
}

void OwnProcessor::Renew() {
  if (!scope) return;
  const int here = CurrentProcessor();
  const bool moved = here != scope->taken_;
  if (!IsCounted(here) || (!moved && (scope->crowded_ || takers[here].load() == 1))) return;
  scope->Settle(here);
}

void OwnProcessor::Settle(int here) {
  const int before = taken_;
  const int others = takers[here].load() - (here == before ? 1 : 0);
  taken_ = others > 0 && !crowded_ ? MoveToFree(here) : -1;
  if (taken_ < 0) {
    crowded_ = others > 0;
    taken_ = here;
    takers[here].fetch_add(1);
  }
  if (before >= 0) takers[before].fetch_sub(1);
}

}  // namespace headrace::cpu

#else

namespace headrace::cpu {

OwnProcessor::OwnProcessor() = default;

OwnProcessor::~OwnProcessor() = default;

void OwnProcessor::Renew() {}

void OwnProcessor::Settle(int) {}

}  // namespace headrace::cpu

#endif
