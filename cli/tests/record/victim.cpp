// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to be recorded: each mode has exactly known events, distinguished by odd sizes; or it allocates, and then
// dies in the way named by its argument.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <latch>
#include <list>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/os/span.hpp>

#include "cli/preload/ashlar_record.h"

namespace {

void* volatile escape;

template <class T>
T* keep(T* p) {
  escape = p;
  return p;
}

char** arguments = nullptr;  // of main

void require(bool holds) {
  if (!holds) _exit(1);
}

struct at_thread_exit {
  void* block = nullptr;
  ~at_thread_exit() {
    free(block);
    free(keep(malloc(30'003)));
  }
};

thread_local at_thread_exit last_words;

pthread_key_t round_key;

/// Allocates in every round of destructors.
void again(void* value) {
  free(keep(malloc(31'001)));
  pthread_setspecific(round_key, value);
}

void many_threads(std::ptrdiff_t count) {
  std::latch start(count);
  std::vector<std::jthread> threads;
  for (std::ptrdiff_t t = 0; t < count; ++t)
    threads.emplace_back([&start] {
      start.arrive_and_wait();
      for (int i = 0; i < 100; ++i) free(keep(malloc(32'001)));
    });
}

/// Returns: the status of the child; the status of SIGKILL if it does not end within two minutes, since its own alarm
/// may be blocked.
int status_of(pid_t child) {
  int status = 0;
  for (int i = 0; i < 120'000; ++i, usleep(1000))
    if (waitpid(child, &status, WNOHANG) == child) return status;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return status;
}

[[gnu::noinline]] void orphan() { free(keep(malloc(43'002))); }

std::atomic<bool> is_in_loader{false}, has_forked{false};

int stay_until_fork(dl_phdr_info*, std::size_t, void*) {
  is_in_loader = true;
  while (!has_forked) usleep(100);
  return 1;
}

int handler_calls = 0;

[[gnu::noinline]] void one_caller() { free(keep(malloc(80'001))); }
[[gnu::noinline]] void other_caller() { free(keep(malloc(80'002))); }

using mode = void (*)();

const std::map<std::string, mode> modes{
    {"forms",
     [] {
       free(keep(malloc(10'001)));
       free(keep(calloc(1, 10'002)));
       free(keep(aligned_alloc(64, 10'048)));
       void* p = nullptr;
       require(posix_memalign(&p, 128, 10'004) == 0);
       free(keep(p));
       free(keep(memalign(256, 10'005)));
       free(keep(valloc(10'006)));
       free(keep(reallocarray(nullptr, 1, 10'008)));
       using std::align_val_t;
       using std::nothrow;
       operator delete(keep(operator new(10'010)));
       operator delete[](keep(operator new[](10'011)));
       operator delete(keep(operator new(10'012, nothrow)), nothrow);
       operator delete[](keep(operator new[](10'013, nothrow)), nothrow);
       operator delete(keep(operator new(10'014, align_val_t{512})), align_val_t{512});
       operator delete[](keep(operator new[](10'015, align_val_t{512})), align_val_t{512});
       operator delete(keep(operator new(10'016, align_val_t{512}, nothrow)), align_val_t{512}, nothrow);
       operator delete[](keep(operator new[](10'017, align_val_t{512}, nothrow)), align_val_t{512}, nothrow);
       operator delete(keep(operator new(10'018)), 10'018);
       operator delete[](keep(operator new[](10'019)), 10'019);
       operator delete(keep(operator new(10'020, align_val_t{32})), 10'020, align_val_t{32});
     }},
    {"forbids_files",
     [] {
       for (int i = 0; i < 10'000; ++i) free(keep(malloc(11'001)));
       const rlimit none{};
       require(setrlimit(RLIMIT_FSIZE, &none) == 0);
     }},
    // A separate function, since some preloaded allocators do not have it.
    {"pages", [] { free(keep(pvalloc(10'007))); }},
    {"reallocs",
     [] {
       char* p = static_cast<char*>(keep(realloc(nullptr, 20'001)));
       std::memset(p, 'x', 20'001);
       for (std::size_t size = 20'002; size <= 20'100; ++size) p = static_cast<char*>(keep(realloc(p, size)));
       for (int i = 0; i < 20'001; ++i) require(p[i] == 'x');
       volatile std::size_t impossible = ~std::size_t{0} / 2 - 1;
       errno = 0;
       require(realloc(p, impossible) == nullptr && errno == ENOMEM);
       require(reallocarray(p, impossible, 3) == nullptr && errno == ENOMEM);
       escape = realloc(p, 0);
       require(escape == nullptr);
     }},
    {"threads",
     [] {
       std::vector<void*> handed_over(4);
       std::vector<std::thread> running;
       for (std::size_t t = 0; t < 4; ++t)
         running.emplace_back([&handed_over, t] {
           last_words.block = malloc(30'002);
           for (int i = 0; i < 10'000; ++i) free(keep(malloc(30'001)));
           handed_over[t] = malloc(30'004);
         });
       for (auto& t : running) t.join();
       for (void* p : handed_over) free(p);
     }},
    {"thousand_threads", [] { many_threads(1'000); }},
    {"five_thousand_threads", [] { many_threads(5'000); }},
    {"keys",
     [] {
       pthread_key_create(&round_key, again);
       std::thread([] { pthread_setspecific(round_key, &round_key); }).join();
     }},
    {"forks",
     [] {
       for (int i = 0; i < 10; ++i) free(keep(malloc(40'001)));
       const pid_t child = fork();
       if (child == 0) {
         for (int i = 0; i < 20; ++i) free(keep(malloc(40'002)));
         _exit(3);
       }
       require(WEXITSTATUS(status_of(child)) == 3);
     }},
    // Forks while other threads allocate: the child must work, regardless of the held locks.
    {"fork_storm",
     [] {
       volatile bool stop = false;
       std::vector<std::thread> churning;
       for (int t = 0; t < 3; ++t)
         churning.emplace_back([&stop] {
           while (!stop) free(keep(malloc(41'001)));
         });
       for (int i = 0; i < 20; ++i) {
         const pid_t child = fork();
         if (child == 0) {
           for (int k = 0; k < 100; ++k) free(keep(malloc(41'002)));
           exit(0);
         }
         require(status_of(child) == 0);
       }
       stop = true;
       for (auto& t : churning) t.join();
     }},
    // Workers that allocate 1,500 blocks each and end in the way that the second argument names.
    {"workers",
     [] {
       const std::string way = arguments[2];
       for (int i = 0; i < 4; ++i) {
         if (fork() != 0) continue;
         for (int k = 0; k < 1'500; ++k) free(keep(malloc(95'001)));
         if (way == "exec") execl("/bin/true", "true", static_cast<char*>(nullptr));
         if (way == "execveat") execveat(-1, "/bin/true", arguments, environ, 0);
         if (way == "term") raise(SIGTERM);
         if (way == "kill") raise(SIGKILL);
         _exit(0);
       }
       while (wait(nullptr) > 0) continue;
     }},
    // Forks while another thread holds the loader's lock, which stays locked in the child forever.
    {"forks_beside_loader",
     [] {
       std::thread in_loader([] { dl_iterate_phdr(stay_until_fork, nullptr); });
       while (!is_in_loader) usleep(100);
       const pid_t child = fork();
       if (child == 0) {
         for (int i = 0; i < 100; ++i) orphan();
         exit(0);
       }
       has_forked = true;
       in_loader.join();
       require(status_of(child) == 0);
     }},
    {"becomes",
     [] {
       free(keep(malloc(42'001)));
       execl(*arguments, *arguments, "forms", static_cast<char*>(nullptr));
       require(false);
     }},
    {"killed",
     [] {
       for (int i = 0; i < 100'000; ++i) free(keep(malloc(50'001)));
       raise(SIGKILL);
     }},
    {"keeps_errno",
     [] {
       for (int i = 0; i < 100'000; ++i) {
         errno = 12'345;
         free(keep(malloc(static_cast<std::size_t>(i % 1000))));
         require(errno == 12'345);
       }
     }},
    // Closes unknown descriptors, as a daemon does, and reuses the number for its own file.
    {"closes_all",
     [] {
       for (int i = 0; i < 10'000; ++i) free(keep(malloc(60'001)));
       for (int fd = 3; fd < 2000; ++fd) close(fd);
       const char* const path = std::getenv("VICTIM_FILE");
       const int own = path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
       require(own >= 0);
       for (int fd = 900; fd < 1010; ++fd) dup2(own, fd);
       for (int i = 0; i < 10'000; ++i) free(keep(malloc(60'001)));
       require(write(own, "mine", 4) == 4);
     }},
    // Empties all open files, the recorder's too.
    {"cuts_all",
     [] {
       for (int i = 0; i < 10'000; ++i) free(keep(malloc(60'001)));
       for (int fd = 3; fd < 2000; ++fd) static_cast<void>(ftruncate(fd, 0) == 0);
       for (int i = 0; i < 10'000; ++i) free(keep(malloc(60'001)));
     }},
    {"runs_out",
     [] {
       std::set_new_handler([] {
         if (++handler_calls == 3) std::set_new_handler(nullptr);
       });
       volatile std::size_t impossible = ~std::size_t{0} / 2 - 100;
       try {
         escape = operator new(impossible);
         require(false);
       } catch (const std::bad_alloc&) {
       }
       require(operator new(impossible, std::nothrow) == nullptr&& handler_calls == 3);
       free(keep(malloc(70'001)));
     }},
    // Looks up a symbol that does not exist: the loader allocates the message.
    {"asks_loader",
     [] {
       for (int i = 0; i < 100; ++i) require(dlsym(RTLD_DEFAULT, "no_such_symbol") == nullptr && dlerror() != nullptr);
     }},
    {"marks",
     [] {
       using mark_function = void (*)(std::uint64_t);
       const auto mark = reinterpret_cast<mark_function>(dlsym(RTLD_DEFAULT, "ashlar_record_mark"));
       require(mark != nullptr);
       for (std::uint64_t i = 1; i <= 3; ++i) mark(i);
     }},
    // A thread that first asks for its stack: the C library allocates under a lock of the thread.
    {"asks_for_its_stack",
     [] {
       std::thread([] {
         pthread_attr_t facts;
         if (pthread_getattr_np(pthread_self(), &facts) == 0) pthread_attr_destroy(&facts);
         free(keep(malloc(90'003)));
       }).join();
     }},
    // Three spans of one name and one within each, by the header for C and by the class; a second thread with a name.
    {"spans",
     [] {
       ashlar_name_thread("main thread");
       for (int i = 0; i < 3; ++i) {
         ashlar_span_begin("request");
         void* const p = keep(malloc(90'000));
         {
           const ashlar::span inner("parse");
           free(keep(malloc(1'000)));
         }
         free(p);
         ashlar_span_end();
       }
       std::thread([] {
         pthread_setname_np(pthread_self(), "worker");
         const ashlar::span request("request");
         for (int i = 0; i < 5; ++i) free(keep(malloc(10)));
       }).join();
     }},
    // Two threads of one name, which a terminal would obey, and the main thread without one.
    {"names",
     [] {
       for (const int blocks : {20, 1})
         std::thread([blocks] {
           ashlar_name_thread("\x1b[31mred\n");
           for (int i = 0; i < blocks; ++i) free(keep(malloc(10)));
         }).join();
     }},
    {"stacks",
     [] {
       for (int i = 0; i < 1000; ++i) {
         one_caller();
         other_caller();
       }
     }},
    // A cancelled thread that allocates ends at its cancellation point, not inside malloc.
    {"cancelled",
     [] {
       const auto work = [](void*) -> void* {
         pthread_cancel(pthread_self());
         for (int i = 0; i < 20'000; ++i) free(keep(malloc(90'001)));
         pthread_testcancel();
         return nullptr;
       };
       pthread_t thread;
       void* result = nullptr;
       require(pthread_create(&thread, nullptr, work, nullptr) == 0 && pthread_join(thread, &result) == 0);
       for (int i = 0; i < 20'000; ++i) free(keep(malloc(90'002)));
       require(result == PTHREAD_CANCELED);
     }},
    // For measurements: random sizes, 4096 live blocks, the ends of each touched.
    {"churn",
     [] {
       std::vector<char*> live(4096, nullptr);
       std::uint64_t random = 88'172'645'463'325'252;
       for (int i = 0; i < 3'000'000; ++i) {
         random ^= random << 13;
         random ^= random >> 7;
         random ^= random << 17;
         char*& p = live[random % live.size()];
         free(p);
         const std::size_t size = 16 + (random >> 20) % 497;
         p = static_cast<char*>(keep(malloc(size)));
         p[0] = p[size - 1] = 1;
       }
       for (char* p : live) free(p);
     }},
    // For measurements: a long list, two thirds of it erased, half as many elements appended again.
    {"lists",
     [] {
       std::list<int> l;
       for (int i = 0; i < 2'000'000; ++i) l.push_back(i);
       l.remove_if([](int i) { return i % 3 != 0; });
       for (int i = 0; i < 1'000'000; ++i) l.push_back(i);
       require(!l.empty());
     }},
};

/// Counts its blocks in a file until a child kills it.
void count_blocks() {
  const int fd = ::open(arguments[2], O_RDWR);
  void* const memory = ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  require(memory != MAP_FAILED);
  const pid_t counter = ::getpid();
  if (::fork() == 0) {
    ::usleep(static_cast<useconds_t>(std::atoi(arguments[3])));
    ::kill(counter, SIGKILL);
    ::_exit(0);
  }
  for (volatile auto* blocks = static_cast<std::uint64_t*>(memory);; *blocks = *blocks + 1) keep(malloc(77));
}

constexpr int blocks = 20'000;
constexpr std::size_t block_bytes = 50'003;
constexpr int end_status = 7;

void allocate_one() { free(keep(malloc(block_bytes))); }

void allocate_some() {
  for (int i = 0; i < blocks; ++i) allocate_one();
}

// A thread that allocates until the process ends.
void start_busy_thread() {
  pthread_t busy;
  const auto churn = [](void*) -> void* {
    while (true) free(keep(malloc(64)));
  };
  require(pthread_create(&busy, nullptr, churn, nullptr) == 0);
}

void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int deeper(volatile int* depth) {
  volatile int frame[1024] = {*depth};
  if (*depth < 0) return 0;  // never
  *depth += deeper(&frame[1023]);
  return frame[0];
}

void overflow_stack() {
  constexpr rlimit small{1 << 20, 1 << 20};
  ::setrlimit(RLIMIT_STACK, &small);
  volatile int depth = 0;
  deeper(&depth);
}

void become_a_daemon() {
  if (::fork() != 0) ::_exit(end_status);
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  allocate_some();
  std::exit(0);
}

[[noreturn]] void end_after(pid_t child) {
  status_of(child);
  exit(end_status);
}

struct dies_late {
  ~dies_late() { std::_Exit(end_status); }
};

// After blocks of their own.
const std::map<std::string, mode> ways_to_die{
    {"returns", [] {}},
    {"exit", [] { std::exit(end_status); }},
    {"_exit", [] { ::_exit(end_status); }},
    {"quick_exit", [] { std::quick_exit(end_status); }},
    {"abort", [] { std::abort(); }},
    {"terminate", [] { std::terminate(); }},
    {"exception", [] { throw std::runtime_error("nobody catches it"); }},
    {"SIGKILL", [] { ::kill(::getpid(), SIGKILL); }},
    {"SIGSEGV", [] { die_of(SIGSEGV); }},
    {"SIGBUS", [] { die_of(SIGBUS); }},
    {"SIGFPE", [] { die_of(SIGFPE); }},
    {"SIGILL", [] { die_of(SIGILL); }},
    {"SIGTERM", [] { die_of(SIGTERM); }},
    {"SIGINT", [] { die_of(SIGINT); }},
    {"SIGPIPE", [] { die_of(SIGPIPE); }},
    {"stack_overflow", overflow_stack},
    {"limit_of_time",
     [] {
       constexpr rlimit one{1, 1};
       ::setrlimit(RLIMIT_CPU, &one);
       allocate_some();
       while (true) {
         allocate_one();
         for (volatile int i = 0; i < 10'000;) i = i + 1;  // seldom, so that the trace is short
       }
     }},
    {"exit_in_atexit",
     [] {
       std::atexit([] { std::_Exit(end_status); });
       std::exit(0);
     }},
    {"exit_in_static_destructor",
     [] {
       static dies_late late;
       std::exit(0);
     }},
    {"exit_in_signal_handler",
     [] {
       std::signal(SIGUSR1, [](int) { ::_exit(end_status); });
       std::raise(SIGUSR1);
     }},
    {"exit_in_thread", [] { std::thread([] { exit(end_status); }).join(); }},
    {"exit_beside_thread",
     [] {
       start_busy_thread();
       std::exit(end_status);
     }},
    {"_exit_beside_thread",
     [] {
       start_busy_thread();
       ::_exit(end_status);
     }},
    {"main_thread_ends_first",
     [] {
       pthread_t last;
       const auto outlive = [](void*) -> void* {
         allocate_some();
         std::exit(end_status);
       };
       if (::pthread_create(&last, nullptr, outlive, nullptr) == 0) ::pthread_exit(nullptr);
     }},
    {"fork_and_child_exit",
     [] {
       const pid_t child = ::fork();
       if (child == 0) std::exit(0);
       end_after(child);
     }},
    {"fork_and_child_abort",
     [] {
       const pid_t child = ::fork();
       if (child == 0) std::abort();
       end_after(child);
     }},
    {"clone_and_SIGKILL",  // a child of which the C library learns nothing
     [] {
       const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
       allocate_some();
       if (child == 0) ::syscall(SYS_exit_group, 0);
       status_of(static_cast<pid_t>(child));
       ::kill(::getpid(), SIGKILL);
     }},
    {"clone_with_threads",  // of both, that of the child last
     [] {
       const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
       if (child == 0) ::usleep(300'000);
       std::thread thread([child] {
         allocate_some();
         if (child != 0) ::pause();
       });
       if (child == 0) thread.join(), ::syscall(SYS_exit_group, 0);
       status_of(static_cast<pid_t>(child));
       ::kill(::getpid(), SIGKILL);
     }},
    {"vfork_and_exec",
     [] {
       const pid_t child = ::vfork();
       if (child == 0) {
         ::execl("/bin/true", "true", nullptr);
         ::_exit(1);
       }
       end_after(child);
     }},
    {"daemon", become_a_daemon},
    {"closes_all_and_exits",
     [] {
       ::close_range(0, ~0U, 0);
       std::exit(end_status);
     }},
    {"no_more_files",
     [] {
       constexpr rlimit none{0, 0};
       ::setrlimit(RLIMIT_NOFILE, &none);
       std::exit(end_status);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  arguments = argv;
  const std::string name = argc > 1 ? argv[1] : "";
  const auto way = ways_to_die.find(name);
  if (way != ways_to_die.end()) allocate_some();
  const auto mode = way != ways_to_die.end() ? way : modes.find(name);
  if (name == "counts") count_blocks();
  if (way == ways_to_die.end() && mode == modes.end()) return 99;
  mode->second();
  return 0;
}
