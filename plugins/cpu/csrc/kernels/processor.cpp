#include "processor.h"

#if defined(__linux__)
#include <sched.h>
#include <time.h>
#include <unistd.h>
#endif

namespace headrace::cpu {

#if defined(__linux__)

int CurrentProcessor() { return sched_getcpu(); }

void KeepOff(pthread_t thread, int processor) {
  cpu_set_t allowed;  // has no room for more than 1,024 processors: the system tells none then
  if (processor < 0 || sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0) return;
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

std::int64_t TimeOnProcessors(pthread_t) { return -1; }

#endif

}  // namespace headrace::cpu
