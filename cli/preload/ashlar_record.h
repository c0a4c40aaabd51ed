/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Marks, spans and thread names for the recorder of `ashlar record`, from C and C++. One file, nothing to link (before
 * glibc 2.34: -ldl). Without the recorder in the process each call costs a load and a branch, but for the first one of a
 * source file, which looks for it. Any thread may call. C++ has ashlar::span in <ashlar/os/span.hpp>. */
#ifndef ASHLAR_RECORD_H
#define ASHLAR_RECORD_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef union ashlar_record_function {
  void* found;
  void (*number)(uint64_t);
  void (*name)(const char*);
  void (*nothing)(void);
} ashlar_record_function;

/* Returns: the function of the recorder, NULL without one. `cache` is NULL before the first call, and its own address if
 * there is none. A null handle stands for RTLD_DEFAULT, which glibc and musl declare for GNU programs alone. */
static inline ashlar_record_function ashlar_record_find(void** cache, const char* symbol) {
  ashlar_record_function f;
  f.found = __atomic_load_n(cache, __ATOMIC_RELAXED);
  if (f.found == NULL) {
    f.found = dlsym(NULL, symbol);
    if (f.found == NULL) f.found = cache;
    __atomic_store_n(cache, f.found, __ATOMIC_RELAXED);
  }
  if (f.found == cache) f.found = NULL;
  return f;
}

/* Effects: a number into the trace, at this point in time. */
static inline void ashlar_mark(uint64_t number) {
  static void* cache;
  const ashlar_record_function f = ashlar_record_find(&cache, "ashlar_record_mark");
  if (f.found != NULL) f.number(number);
}

/* Effects: begins a part of the calling thread's work, such as a request. Spans of a thread nest. `name` is read before the
 * return, up to 255 bytes. */
static inline void ashlar_span_begin(const char* name) {
  static void* cache;
  const ashlar_record_function f = ashlar_record_find(&cache, "ashlar_record_span_begin");
  if (f.found != NULL) f.name(name);
}

/* Effects: ends the innermost span that the calling thread has begun. */
static inline void ashlar_span_end(void) {
  static void* cache;
  const ashlar_record_function f = ashlar_record_find(&cache, "ashlar_record_span_end");
  if (f.found != NULL) f.nothing();
}

/* Effects: names the calling thread in the trace. */
static inline void ashlar_name_thread(const char* name) {
  static void* cache;
  const ashlar_record_function f = ashlar_record_find(&cache, "ashlar_record_thread_name");
  if (f.found != NULL) f.name(name);
}

#ifdef __cplusplus
}
#endif

#endif
