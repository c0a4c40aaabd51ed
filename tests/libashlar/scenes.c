/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scenes <scene> <argument>...: a program in C, without the C++ library, which knows nothing of its malloc. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

static void* volatile last; /* no compiler may drop what goes through it */

/* Opens libashlar while it runs: the calls of ashlar_malloc.h work beside the malloc of the program, also in threads.
 */
static void* (*their_malloc)(size_t);
static void (*their_free)(void*);

static void* use_both(void* argument) {
  int i;
  for (i = 0; i < 1000; ++i) {
    char* const p = their_malloc((size_t)i * 7);
    char* const q = malloc((size_t)i * 5 + 1);
    if (p == NULL || q == NULL) return argument;
    memset(p, 1, (size_t)i * 7);
    free(q);
    their_free(p);
  }
  return NULL;
}

static int opened(int count, char** arguments) {
  pthread_t threads[4];
  void* failed = NULL;
  int i;
  void* const library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  *(void**)&their_malloc = dlsym(library, "ashlar_malloc");
  *(void**)&their_free = dlsym(library, "ashlar_free");
  if (their_malloc == NULL || their_free == NULL) return 1;
  for (i = 0; i < 4; ++i)
    if (pthread_create(&threads[i], NULL, use_both, &failed) != 0) return 1;
  dlclose(library); /* it stays: blocks and thread ends need it */
  for (i = 0; i < 4; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    if (result != NULL) failed = result;
  }
  return failed == NULL ? 0 : 1;
}

static void* function(void* library, const char* name) {
  void* const found = library != NULL ? dlsym(library, name) : NULL;
  if (found == NULL) fprintf(stderr, "%s\n", dlerror());
  return found;
}

/* The argument is a module, not to be seen by others, which calls the forms of operator new and delete. */
static int module(int count, char** arguments) {
  int (*call)(void);
  *(void**)&call = function(count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL, "call_operator_forms");
  return call != NULL ? call() : 1;
}

/* The argument is a module in C++, to be opened while the program runs: operator new of too much throws there. Without
 * an argument it calls operator new itself, where nothing can throw. */
static int late_cxx(int count, char** arguments) {
  _Bool (*catches_bad_alloc)(size_t);
  void* (*operator_new)(size_t);
  if (count > 1) {
    *(void**)&catches_bad_alloc = function(dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL), "catches_bad_alloc");
    return catches_bad_alloc != NULL && catches_bad_alloc(PTRDIFF_MAX) ? 0 : 1;
  }
  *(void**)&operator_new = function(dlopen(NULL, RTLD_NOW), "_Znwm");
  return operator_new != NULL && operator_new(PTRDIFF_MAX) != NULL ? 2 : 3;
}

/* closed_plugins <plugin>:<bytes>...: opens each plugin, which allocates four blocks, and closes it, but for the last.
 * Prints where each was. */
static int call_plugin(char* plugin, int closes) {
  union {
    void* address;
    void (*function)(size_t bytes);
  } call;
  char* colon = strrchr(plugin, ':');
  void* opened;
  int left;
  if (colon == NULL) return 2;
  *colon = '\0';
  opened = dlopen(plugin, RTLD_NOW);
  if (opened == NULL || (call.address = dlsym(opened, "call")) == NULL) return fputs(dlerror(), stderr), 2;
  for (left = 4; left != 0; --left) call.function(strtoul(colon + 1, NULL, 10));
  printf("%p\n", call.address);
  return closes ? dlclose(opened) : 0;
}

static int closed_plugins(int count, char** arguments) {
  int at;
  for (at = 1; at < count; ++at)
    if (call_plugin(arguments[at], at + 1 < count) != 0) return 2;
  return 0;
}

/* A thread that is to be cancelled has a profile written by a signal, is refused memory with a report, and writes the
   statistics: it ends behind all three, at its own cancellation point, and keeps no lock. To be run with stats=max, a
   limit below 64 MiB, and profile_signal=12. */
static volatile int passed;

static void* allocates(void* ignored) {
  int i;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  (void)pthread_cancel(pthread_self());
  (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  for (i = 0; i < 1000; ++i) free(last = malloc(10000));
  (void)pthread_kill(pthread_self(), 12);
  free(last = malloc((size_t)64 << 20));
  malloc_stats();
  passed = 1;
  pthread_testcancel();
  return ignored;
}

static int cancelled(int count, char** arguments) {
  pthread_t thread;
  void* result = NULL;
  int i;
  (void)count, (void)arguments;
  if (pthread_create(&thread, NULL, allocates, NULL) != 0 || pthread_join(thread, &result) != 0) return 1;
  if (!passed) return 2;
  if (result != PTHREAD_CANCELED) return 3;
  for (i = 0; i < 1000; ++i) free(last = malloc(10000));
  return 0;
}

/* Holds 4 MB in blocks of 1000 bytes and 2 MB in larger ones, and asks twice for more than `max` allows. With an
   argument it has a pipe as descriptor 2 meanwhile, as a daemon has a file of its own there: no report may come out of
   it. */
__attribute__((noinline)) static void hold(int count, size_t bytes) {
  int i;
  for (i = 0; i < count; ++i) last = malloc(bytes);
  last = NULL;
}

static int is_refused(void) {
  int i;
  for (i = 0; i < 2; ++i)
    if ((last = malloc((size_t)100 << 20)) != NULL || errno != ENOMEM) return 0;
  return 1;
}

/* Returns: the other end of the pipe. */
static int put_pipe_in_place_of_errors(void) {
  int ends[2];
  if (pipe(ends) != 0 || dup2(ends[1], 2) != 2) exit(3);
  close(ends[1]);
  return ends[0];
}

static int is_empty(int pipe) {
  char c;
  close(2);
  return read(pipe, &c, 1) == 0;
}

static int holders(int count, char** arguments) {
  const int pipe = count > 1 ? put_pipe_in_place_of_errors() : -1;
  (void)arguments;
  hold(4000, 1000);
  hold(2, (size_t)1 << 20);
  if (!is_refused()) return 1;
  if (pipe >= 0 && !is_empty(pipe)) return 4;
  return (last = malloc(100)) != NULL ? 0 : 2;
}

/* retained <bytes> <share>: frees 64 MiB of touched blocks of that size, calls malloc as a program does that goes on,
   and expects that all of the memory is still resident ("all"), a quarter of it ("quarter", of the option retain=16m),
   or next to nothing ("none"). */
enum { mib = 1 << 20, total = 64 * mib, least_block = 1000 };

static void* blocks[total / least_block];

/* Reads without a buffer of malloc's. */
static size_t resident_bytes(void) {
  static char buffer[4096];
  unsigned long all, resident;
  FILE* const file = fopen("/proc/self/statm", "r");
  EXPECT(file != NULL && setvbuf(file, buffer, _IOFBF, sizeof buffer) == 0);
  EXPECT(fscanf(file, "%lu %lu", &all, &resident) == 2);
  fclose(file);
  return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* On slow paths too, and long enough for decay=20. */
static void go_on(void) {
  static const struct timespec pause = {0, 1000000};
  int i;
  for (i = 0; i < 60; ++i) {
    size_t bytes;
    for (bytes = 40000; bytes < 60000; bytes += 500) free(malloc(bytes));
    nanosleep(&pause, NULL);
  }
}

/* Returns: MiB of 64 that stay resident after touched blocks of that size are freed, and the program has gone on. */
static size_t kept_of_freed(size_t bytes, size_t* before) {
  size_t i, after;
  memset(blocks, 0, sizeof blocks);
  *before = resident_bytes();
  for (i = 0; i < total / bytes; ++i)
    EXPECT((blocks[i] = malloc(bytes)) != NULL && memset(blocks[i], 1, bytes) != NULL);
  EXPECT(resident_bytes() >= *before + total / 10 * 9);
  for (i = 0; i < total / bytes; ++i) free(blocks[i]);
  go_on();
  after = resident_bytes();
  return after > *before ? (after - *before) / mib : 0;
}

static int retained(int count, char** arguments) {
  const size_t bytes = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
  const char* const share = count > 2 ? arguments[2] : "";
  size_t before, kept;
  EXPECT(bytes >= least_block);
  kept = kept_of_freed(bytes, &before);
  printf("%lu MiB of 64 are resident\n", (unsigned long)kept);
  if (strcmp(share, "all") == 0) EXPECT(kept >= 56);
  else if (strcmp(share, "quarter") == 0) EXPECT(kept >= 8 && kept <= 24);
  else EXPECT(kept <= 8);
  return 0;
}

/* controlled: a program that takes its malloc for jemalloc asks for its memory back, as redis and haproxy do. */
static int controlled(int count, char** arguments) {
  static const char* const unknown[] = {
      "arena.4097.purge", "arena.x.purge", "arena..purge", "arena.0", "arena.0.purged", "purge", "", "stats.active"};
  int (*control)(const char*, void*, size_t*, void*, size_t);
  char name[32];
  unsigned arenas = 7;
  size_t i, before, bytes = sizeof arenas;
  *(void**)&control = dlsym(RTLD_DEFAULT, "mallctl");
  EXPECT(count == 1 && arguments != NULL && control != NULL);
  EXPECT(control("arenas.narenas", &arenas, &bytes, NULL, 0) == 0 && arenas == 1 && bytes == sizeof arenas);
  EXPECT(control("arenas.narenas", &arenas, &bytes, &arenas, bytes) == EPERM);
  EXPECT(control("arena.4096.purge", &arenas, &bytes, NULL, 0) == EPERM);
  EXPECT(control("arena.4096.purge", NULL, NULL, &arenas, bytes) == EPERM);
  EXPECT(control("arenas.narenas", &arenas, (bytes = 16, &bytes), NULL, 0) == EINVAL && bytes == sizeof arenas);
  EXPECT(control("arenas.narenas", &arenas, (bytes = 1, &bytes), NULL, 0) == EINVAL && bytes == 1);
  for (i = 0; i < sizeof unknown / sizeof unknown[0]; ++i) EXPECT(control(unknown[i], NULL, NULL, NULL, 0) == ENOENT);
  EXPECT(control("thread.idle", NULL, NULL, NULL, 0) == 0 && control("thread.tcache.flush", NULL, NULL, NULL, 0) == 0);
  for (i = 0; i < 2; ++i) {
    EXPECT(kept_of_freed(i == 0 ? 1000 : 131072, &before) >= 56);
    EXPECT(control("arena.0.decay", NULL, NULL, NULL, 0) == 0 && resident_bytes() >= before + 56 * mib);
    snprintf(name, sizeof name, "arena.%u.purge", arenas);
    EXPECT(control(name, NULL, NULL, NULL, 0) == 0 && resident_bytes() <= before + 8 * mib);
  }
  return 0;
}

/* profile_at_fork <prefix>: signals ask for the profile, <prefix><process>, while forks hold its lock. The parent has
 * written it when fork has returned and the signal has come; the child writes none. */
enum { rounds = 200 };
static const char* prefix;
static pthread_t forking;
static volatile int round_to_ask, delivered;
static struct sigaction of_library;

static int was_there(pid_t process) {
  char path[4096];
  snprintf(path, sizeof path, "%s%d", prefix, (int)process);
  return unlink(path) == 0;
}

static void count(int signal) {
  of_library.sa_handler(signal);
  ++delivered;
}

static void* ask(void* unused) {
  int round;
  for (round = 1; round <= rounds; ++round) {
    while (round_to_ask != round) sched_yield();
    pthread_kill(forking, SIGUSR2);
  }
  return unused;
}

static int fork_once(int round) {
  int status = 1;
  pid_t child;
  round_to_ask = round;
  child = fork();
  if (child == 0) _exit(was_there(getpid()) ? 3 : 0);
  while (delivered != round) sched_yield();
  if (!was_there(getpid())) return 1;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 2;
  return WEXITSTATUS(status);
}

static int profile_at_fork(int count_of_arguments, char** arguments) {
  pthread_t asking;
  struct sigaction ours;
  int round, result = 0;
  if (count_of_arguments != 2 || sigaction(SIGUSR2, NULL, &of_library) != 0) return 4;
  prefix = arguments[1];
  forking = pthread_self();
  ours = of_library;
  ours.sa_handler = count;
  if (sigaction(SIGUSR2, &ours, NULL) != 0 || pthread_create(&asking, NULL, ask, NULL) != 0) return 4;
  for (round = 1; round <= rounds && result == 0; ++round) result = fork_once(round);
  if (result == 0) pthread_join(asking, NULL);
  _exit(result);
}

/* threads <way> <threads> [<MiB>]: threads that hold a few small blocks each, all at once, and what the system counts
 * for them: data, space   under a limit of data or of address space of so many MiB: each gets its blocks locked under
 * mlockall(MCL_FUTURE): at most so many MiB are resident (status 77: the system locks no memory) resident      at most
 * so many MiB are resident charged       at most so many MiB are data, which the system may have to provide short one
 * after the other, eight at a time keyed         one after the other: each begins with the value of a key behind the
 * first 32; at most so many MiB of
 *                 address space are in use */
enum { blocks_of_thread = 24, most_threads = 4096, at_once = 8 };

static pthread_barrier_t all_hold;
static pthread_attr_t small_stacks;
static pthread_t threads[most_threads];

static pthread_key_t last_key;

static void* hold_some(void* is_held) {
  char* held[blocks_of_thread];
  for (size_t i = 0; i < blocks_of_thread; ++i) {
    const size_t bytes = 100 + i % 4 * 16 + (i == 0 ? 20000 : 0);
    held[i] = malloc(bytes);
    EXPECT(held[i] != NULL);
    memset(held[i], 1, bytes);
  }
  if (is_held != NULL) pthread_barrier_wait(&all_hold);
  for (size_t i = 0; i < blocks_of_thread; ++i) free(held[i]);
  return NULL;
}

static void start(int first, int last, void* is_held) {
  for (int i = first; i < last; ++i) EXPECT(pthread_create(&threads[i], &small_stacks, hold_some, is_held) == 0);
}

// The C library allocates for the value, and that is the first call of the thread.
static void* begin_with_key(void* value) {
  EXPECT(pthread_setspecific(last_key, value) == 0);
  return hold_some(NULL);
}

static void join(int first, int last) {
  for (int i = first; i < last; ++i) pthread_join(threads[i], NULL);
}

static void limit(int which, long mib) {
  const struct rlimit most = {(rlim_t)mib << 20, (rlim_t)mib << 20};
  EXPECT(setrlimit(which, &most) == 0);
}

static long status_kib(const char* name) {
  char line[256];
  FILE* const status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) return fclose(status), strtol(line + strlen(name), NULL, 10);
  EXPECT(!"a line of /proc/self/status");
  return 0;
}

static int at_most(const char* name, long mib) {
  const long kib = status_kib(name);
  printf("%s %ld KiB, at most %ld\n", name, kib, mib * 1024);
  return kib > mib * 1024;
}

static int many_threads(int words, char** arguments) {
  const char* const way = words > 2 ? arguments[1] : "";
  const int number = words > 2 ? atoi(arguments[2]) : most_threads + 1;
  const long most = words > 3 ? atol(arguments[3]) : 0;
  int i;
  pthread_attr_init(&small_stacks);
  pthread_attr_setstacksize(&small_stacks, 65536);
  if (strcmp(way, "short") == 0) {
    for (i = 0; i < number; i += at_once) start(0, at_once, NULL), join(0, at_once);
    return 0;
  }
  if (strcmp(way, "keyed") == 0) {
    for (i = 0; i < 40; ++i) EXPECT(pthread_key_create(&last_key, NULL) == 0);
    for (i = 0; i < number; ++i) {
      EXPECT(pthread_create(&threads[0], NULL, begin_with_key, &all_hold) == 0);
      join(0, 1);
    }
    return at_most("VmPeak:", most);
  }
  EXPECT(number <= most_threads);
  if (strcmp(way, "data") == 0) limit(RLIMIT_DATA, most);
  if (strcmp(way, "space") == 0) limit(RLIMIT_AS, most);
  if (strcmp(way, "locked") == 0 && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 77;
  pthread_barrier_init(&all_hold, NULL, (unsigned)number + 1);
  start(0, number, threads);
  pthread_barrier_wait(&all_hold);
  join(0, number);
  if (strcmp(way, "charged") == 0) return at_most("VmData:", most);
  return (strcmp(way, "locked") == 0 || strcmp(way, "resident") == 0) && at_most("VmHWM:", most);
}

typedef struct {
  const char* name;
  int (*play)(int count, char** words);
} scene;

int main(int count, char** words) {
  static const scene scenes[] = {
      {"opened", opened},        {"module", module},
      {"late_cxx", late_cxx},    {"closed_plugins", closed_plugins},
      {"cancelled", cancelled},  {"holders", holders},
      {"retained", retained},    {"profile_at_fork", profile_at_fork},
      {"threads", many_threads}, {"controlled", controlled},
  };
  size_t i;
  for (i = 0; i < sizeof scenes / sizeof scenes[0]; ++i)
    if (count > 1 && strcmp(words[1], scenes[i].name) == 0) return scenes[i].play(count - 1, words + 1);
  return 2;
}
