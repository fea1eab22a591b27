// Counts what a process allocates: loaded before glibc, whose functions it calls in turn.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

static atomic_long made;

// Since the process began, by all its threads.
long allocations(void) { return atomic_load(&made); }

static void Count(void) { atomic_fetch_add_explicit(&made, 1, memory_order_relaxed); }

void* malloc(size_t bytes) {
  Count();
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  Count();
  return __libc_calloc(count, bytes);
}

void* realloc(void* old, size_t bytes) {
  Count();
  return __libc_realloc(old, bytes);
}

void* memalign(size_t alignment, size_t bytes) {
  Count();
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void** to, size_t alignment, size_t bytes) {
  void* const memory = memalign(alignment, bytes);
  if (memory == NULL) return ENOMEM;
  *to = memory;
  return 0;
}
