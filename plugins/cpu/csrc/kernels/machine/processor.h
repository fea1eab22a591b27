// Which processor a thread is on, and how to have it on another one.
//
// A scheduler may wake a thread on the processor of the one that waits for it, and needs some
// milliseconds to see that another one has nothing to do: time of many kernels.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace headrace::cpu {

// The processor that runs the caller; -1 where the system does not say.
int CurrentProcessor();

// From now on `thread` runs wherever the first thread of the process may run, but not on
// `processor`. Changes nothing if there is no other, or where the system has no such thing.
void KeepOff(pthread_t thread, int processor);

// From now on `thread` runs on `processor` alone.
void KeepOn(pthread_t thread, int processor);

// What the system calls a thread, of any process.
using ThreadId = int;
inline constexpr ThreadId kNoThread = -1;

ThreadId CurrentThread();

// Whether `thread` of this process could run and does not, as the caller has `processor`. Asks the
// system, for some microseconds.
bool WaitsFor(ThreadId thread, int processor);

// Has `thread` on another processor than `processor`, if it may run there; it may run afterwards
// wherever it might before.
void MoveOff(ThreadId thread, int processor);

// Has the caller on `processor`; it may run afterwards wherever it might before. False where it may
// not run there.
bool MoveTo(int processor);

// The first of the processors that are one core together with `processor`, as hyper-threads are.
int CoreOf(int processor);

// Nanoseconds that `thread` was on processors, up to now; -1 where the system does not say.
std::int64_t TimeOnProcessors(pthread_t thread);

}  // namespace headrace::cpu
