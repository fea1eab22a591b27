#include "kernels/machine/processor.h"

#if defined(__linux__)
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#endif

namespace headrace::cpu {

#if defined(__linux__)

namespace {

// Odd while the first thread of the process moves: where it may run says nothing then.
std::atomic<unsigned> first_threads_moves{0};

// Of a child the first thread is the one that forked, which did not move.
[[maybe_unused]] const int watched =
    pthread_atfork(nullptr, nullptr, [] { first_threads_moves.store(0); });

// Has `thread` where it may be `there`; it may run afterwards where it is `allowed` to.
bool MoveBy(ThreadId thread, const cpu_set_t& there, const cpu_set_t& allowed) {
  const unsigned first = thread == getpid() ? 1 : 0;
  first_threads_moves.fetch_add(first);
  const bool moved = sched_setaffinity(thread, sizeof there, &there) == 0;
  if (moved) {
    // A thread that nobody bound is not to be bound: that its processors are all that its container
    // has today would keep it off those that the container is given later.
    cpu_set_t every;
    std::memset(&every, 0xff, sizeof every);
    cpu_set_t now;
    if (sched_setaffinity(thread, sizeof every, &every) != 0 ||
        sched_getaffinity(thread, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &allowed)) {
      sched_setaffinity(thread, sizeof allowed, &allowed);
    }
  }
  first_threads_moves.fetch_add(first);
  return moved;
}

}  // namespace

int CurrentProcessor() { return sched_getcpu(); }

void KeepOff(pthread_t thread, int processor) {
  cpu_set_t allowed;  // has no room for more than 1,024 processors: the system tells none then
  const unsigned moves = first_threads_moves.load();
  if (processor < 0 || sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0) return;
  if (moves % 2 != 0 || first_threads_moves.load() != moves) return;
  CPU_CLR(processor, &allowed);
  if (CPU_COUNT(&allowed) > 0) pthread_setaffinity_np(thread, sizeof allowed, &allowed);
}

void KeepOn(pthread_t thread, int processor) {
  if (processor < 0) return;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  CPU_SET(processor, &allowed);
  pthread_setaffinity_np(thread, sizeof allowed, &allowed);
}

ThreadId CurrentThread() { return static_cast<ThreadId>(syscall(SYS_gettid)); }

// Fields 3 and 39 of `man 5 proc_pid_stat`, after a name in parentheses that may have any in it.
bool WaitsFor(ThreadId thread, int processor) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[1024];
  const auto length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = 0;
  const char* at = std::strrchr(text, ')');
  if (!at || std::strncmp(at, ") R", 3) != 0) return false;
  for (int field = 2; at && field < 39; ++field) at = std::strchr(at + 1, ' ');
  return at && std::atoi(at) == processor;
}

void MoveOff(ThreadId thread, int processor) {
  cpu_set_t allowed;
  if (sched_getaffinity(thread, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(processor, &others);
  if (CPU_COUNT(&others) > 0) MoveBy(thread, others, allowed);
}

bool MoveTo(int processor) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  if (processor < 0 || processor >= CPU_SETSIZE || !CPU_ISSET(processor, &allowed)) return false;
  cpu_set_t there;
  CPU_ZERO(&there);
  CPU_SET(processor, &there);
  return MoveBy(CurrentThread(), there, allowed);
}

int CoreOf(int processor) {
  static std::array<std::atomic<int>, CPU_SETSIZE> known{};  // one more than the first; 0: not yet
  if (processor < 0 || processor >= CPU_SETSIZE) return processor;
  auto& mine = known[static_cast<std::size_t>(processor)];
  if (mine.load() != 0) return mine.load() - 1;
  char path[80];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                processor);
  int first = processor;  // also where nobody says
  if (std::FILE* file = std::fopen(path, "re")) {
    int said = -1;
    if (std::fscanf(file, "%d", &said) == 1 && said >= 0 && said < CPU_SETSIZE) first = said;
    std::fclose(file);
  }
  mine.store(first + 1);
  return first;
}

std::int64_t TimeOnProcessors(pthread_t thread) {
  clockid_t clock;
  timespec time;
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

#else

int CurrentProcessor() { return -1; }

void KeepOff(pthread_t, int) {}

void KeepOn(pthread_t, int) {}

ThreadId CurrentThread() { return kNoThread; }

bool WaitsFor(ThreadId, int) { return false; }

void MoveOff(ThreadId, int) {}

bool MoveTo(int) { return false; }

int CoreOf(int processor) { return processor; }

std::int64_t TimeOnProcessors(pthread_t) { return -1; }

#endif

}  // namespace headrace::cpu
