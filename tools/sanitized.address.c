// Loaded into a process before it starts, beside the address sanitizer of gcc; see sanitized.py.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The checks of undefined behaviour have a runtime of their own. Where its reports go it sets by a
// function that the other runtime has as well, and that one is what the loader takes: theirs would
// go to standard error for ever. So theirs is called by hand.
static void tell_where_reports_go(void) {
  void* checks = dlopen(CHECKS, RTLD_NOW);
  void (*set_path)(const char*) = dlsym(checks, "__sanitizer_set_report_path");
  set_path(REPORTS);
}

static int sleeps(const char* thread) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
  const int file = open(path, O_RDONLY);
  const ssize_t count = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (count <= 0) return 1;  // it has ended meanwhile
  text[count] = 0;
  const char* name_ends = strrchr(text, ')');
  return name_ends == NULL || (name_ends[2] != 'R' && name_ends[2] != 'D');
}

static int others_sleep(void) {
  char self[16];
  snprintf(self, sizeof self, "%d", gettid());
  DIR* threads = opendir("/proc/self/task");
  int all = 1;
  for (struct dirent* each; threads != NULL && (each = readdir(threads)) != NULL;)
    if (each->d_name[0] != '.' && strcmp(each->d_name, self) != 0) all &= sleeps(each->d_name);
  if (threads != NULL) closedir(threads);
  return all;
}

// A forked child has one thread, and the locks of the sanitizer as they were: it would wait for
// ever for one that another thread held. Such a thread is running, if only on its way out (Python
// joins it earlier); so a fork waits until all others sleep, or for a second where one never does.
static void let_others_finish(void) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    if (others_sleep()) return;
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1e9 + (now.tv_nsec - begin.tv_nsec) < 1e9);
}

__attribute__((constructor)) static void begin(void) {
  tell_where_reports_go();
  pthread_atfork(let_others_finish, NULL, NULL);
}
