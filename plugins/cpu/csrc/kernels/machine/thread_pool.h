// The threads of this backend: one pool for all kernels of the process.
//
//     ParallelFor(rows, 16, [&](Size begin, Size end) { ... rows begin to end ... });
//
// The body is called for parts that cover 0 to `count`, each of at most `grain`, by the caller and
// by the threads of the pool, each part once, in any order; with one thread, one part, a caller
// that is in a body already or another caller that has the pool, all of it by the caller in one
// call. Each thread begins with a share of its own, the first with the first: put first in a loop
// what the loop before it has first, and a thread finds what it wrote in its own cache. The call
// returns when all is done. A body must not let what it computes depend on how the range was cut,
// so results are the same for every number of threads: no sum is split.
//
// A `grain` is worth having from about 10 microseconds of work: handing a part over costs one. What
// that is for a loop, a constant says that was measured; see GrainOf.
//
// What a body throws, the call throws when no body runs any more; parts that nobody began are left
// out. The threads are made at first use. They look for work a while, then sleep. A process that
// was forked makes its own.
#pragma once

#include "kernels/machine/thread_team.h"

namespace headrace::cpu {

constexpr int kMostThreads = 1024;

// How many threads work on a loop, the caller included, if the system starts them; once a loop has
// run, those that it has started. From HEADRACE_CPU_THREADS, else the cores
// that this process may use. Throws std::invalid_argument if the variable is no such number.
int Threads();

// Changes it, for loops that begin after that. Waits for the loop that is under way. Throws
// std::invalid_argument unless 1 <= count <= kMostThreads, std::logic_error in the body of a loop.
void SetThreads(int count);

// Ends the threads, when the interpreter goes; what is computed after that runs on its caller
// alone.
void StopThreads();

// Where the memory of a thread begins, in bytes: as cache lines and the widest registers do.
constexpr Size kScratchAlignment = 64;

// Bytes that belong to the calling thread until it asks again, aligned to kScratchAlignment. It
// keeps the most that it ever asked for, so that a launch allocates nothing after the first.
void* ThreadScratch(std::size_t bytes);

// The grain of a loop each of whose steps is `work`, where `worth` is worth a part of its own.
constexpr Size GrainOf(Size worth, Size work) {
  const Size steps = work > 1 ? worth / work : worth;
  return steps > 1 ? steps : 1;
}

void ParallelForBody(Size count, Size grain, LoopBody body, void* context);

template <class F>
HEADRACE_INLINE void ParallelFor(Size count, Size grain, F&& f) {
  ParallelForBody(
      count, grain,
      [](void* context, Size begin, Size end) { (*static_cast<F*>(context))(begin, end); }, &f);
}

}  // namespace headrace::cpu
