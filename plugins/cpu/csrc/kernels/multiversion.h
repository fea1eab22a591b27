// How one source serves several instruction sets without -march.
//
// A kernel is an always-inlined template body called from a small non-template function marked
// HEADRACE_MULTIVERSION. The compiler then makes one copy of body and function for each
// instruction set, and the loader picks one when the extension is opened.
#pragma once

#include <cstdint>  // any standard header: it is what defines __GLIBC__

#include "isa.h"

// Clones need ifunc (glibc) and a compiler that knows the micro-architecture levels as clone
// targets. Everywhere else, NEON machines included, the baseline build is what there is.
// "avx2,fma" would not do: the list makes one clone for each word, so the two never meet.
// x86-64-v4 was tried: only erf gained, and the extension grew by half.
// Sanitizer builds go without, because a resolver may run before the sanitizer's own start-up.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEADRACE_MULTIVERSION __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define HEADRACE_MULTIVERSION
#endif

// Inputs and outputs never overlap, but rows reached through pointer arrays cannot say so.
#if defined(__clang__)
#define HEADRACE_NO_ALIAS_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define HEADRACE_NO_ALIAS_LOOP _Pragma("GCC ivdep")
#else
#define HEADRACE_NO_ALIAS_LOOP
#endif
