// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A malloc in front of glibc's with one fault, by the variable ASHLAR_TEST_FAULT, by which it is proved that the rules
// find it.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(std::size_t bytes) noexcept;
void* __libc_calloc(std::size_t count, std::size_t bytes) noexcept;
void* __libc_realloc(void* p, std::size_t bytes) noexcept;
void __libc_free(void* p) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t bytes) noexcept;
}

namespace {

constexpr std::uint64_t hash_of(const char* name) noexcept {
  std::uint64_t hash = 1;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100'0000'01B3;
  return hash;
}

/// A fault by its name. Each breaks the rule that its line of CMakeLists.txt names: a name without a fault breaks none,
/// and so fails its test.
struct fault {
  std::uint64_t hash;
  consteval explicit(false) fault(const char* name) : hash{hash_of(name)} {}
};

/// The environment as the kernel gave it: libc's own is not set yet when the first callers come.
std::uint64_t named_by_environment() {
  static constinit char text[32 << 10];
  const int file = ::open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
  std::size_t length = 0;
  for (ssize_t n = 1; n > 0; length += static_cast<std::size_t>(n))
    n = std::max(ssize_t{0}, ::read(file, text + length, sizeof text - 1 - length));
  ::close(file);
  constexpr char variable[] = "ASHLAR_TEST_FAULT=";
  for (const char* each = text; each < text + length; each += std::strlen(each) + 1)
    if (std::strncmp(each, variable, sizeof variable - 1) == 0) return hash_of(each + sizeof variable - 1);
  return 0;
}

/// Returns: whether this process has the fault; the name is read at the first call.
bool has(fault wanted) noexcept {
  static constinit bool is_known = false;
  static constinit std::uint64_t known = 0;
  if (!is_known) {
    is_known = true;
    known = named_by_environment();
  }
  return known == wanted.hash;
}

// ---- malloc

alignas(16) char shared_block_of_no_bytes[16];
constexpr std::size_t racing_bytes = 2048;
std::atomic<void*> racing_block{nullptr};
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t key;
constinit bool is_constructed = false;
constinit bool is_closed = false;
thread_local bool is_thread_closed = false;
thread_local bool is_looking_up = false;
thread_local void* last_block = nullptr;

struct closing {
  bool is_used = false;
  ~closing() { is_closed = has("closed_at_start_of_exit"); }
};
thread_local closing at_start_of_exit;

void end_of_thread(void*) {
  if (has("lost_with_its_thread") && last_block != nullptr) std::memset(last_block, 0xDD, 1);
  is_thread_closed = has("closed_by_a_key");
}

__attribute__((constructor)) void construct() {
  is_constructed = true;
  ::pthread_key_create(&key, end_of_thread);
  if (has("closed_at_start_of_exit")) at_start_of_exit.is_used = true;
  if (has("lock_held_by_handlers"))
    ::pthread_atfork([] { ::pthread_mutex_lock(&lock); }, [] { ::pthread_mutex_unlock(&lock); },
                     [] { ::pthread_mutex_unlock(&lock); });
}

bool is_refused() { return (has("null_before_constructor") && !is_constructed) || is_closed || is_thread_closed; }

__attribute__((noinline)) void use_stack() {
  volatile char array[32 << 10];
  for (std::size_t i = 0; i < sizeof array; i += 512) array[i] = 1;
}

// At first it gives another thread in the loader, with the loader's lock, the time to come and wait for this one.
void look_up() {
  static std::atomic<int> pauses = 100;
  if (is_looking_up) return;
  is_looking_up = true;
  ::pthread_mutex_lock(&lock);
  const timespec while_others_run{.tv_sec = 0, .tv_nsec = 1'000'000};
  if (pauses.fetch_sub(1) > 0) ::nanosleep(&while_others_run, nullptr);
  ::dlsym(RTLD_DEFAULT, "abort");
  ::pthread_mutex_unlock(&lock);
  is_looking_up = false;
}

/// Effects: what a faulty malloc does before it looks for memory.
void misbehave() {
  if (has("cancellation_point")) ::pthread_testcancel();
  if (has("uses_much_stack")) use_stack();
  if (has("looks_up_under_lock")) look_up();
  if (has("lock_lost_by_fork") || has("lock_held_by_handlers")) {
    ::pthread_mutex_lock(&lock);
    if (has("lock_lost_by_fork")) sched_yield();
    ::pthread_mutex_unlock(&lock);
  }
  if (has("lost_with_its_thread") || has("closed_by_a_key"))
    if (is_constructed && !is_thread_closed) ::pthread_setspecific(key, &lock);
}

/// A block that two threads may get at once.
void* race() {
  void* const p = racing_block;
  if (p == nullptr) return __libc_malloc(racing_bytes);
  sched_yield();
  racing_block = nullptr;
  return p;
}

void* served(std::size_t bytes) {
  if (bytes == 0 && has("zero_size_is_null")) return nullptr;
  if (bytes == 0 && has("zero_size_is_shared")) return shared_block_of_no_bytes;
  if (bytes > PTRDIFF_MAX && has("serves_beyond_ptrdiff_max")) return __libc_malloc(64);
  if (has("aligned_to_8") && bytes < PTRDIFF_MAX) {
    auto* const p = static_cast<char*>(__libc_malloc(bytes + 16));
    return p == nullptr ? nullptr : p + 8;
  }
  if (has("races") && bytes > racing_bytes / 2 && bytes <= racing_bytes) return race();
  return __libc_malloc(bytes);
}

/// Returns: the address that glibc knows.
void* address_of_glibc(void* p) {
  return has("aligned_to_8") && reinterpret_cast<std::uintptr_t>(p) % 16 == 8 ? static_cast<char*>(p) - 8 : p;
}

void* without_memory() {
  if (has("aborts_without_memory")) std::abort();
  if (has("no_enomem")) errno = 0;
  return nullptr;
}

void* realloc_to_less(void* p, std::size_t bytes) {
  void* const moved = __libc_malloc(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, p, bytes);
  __libc_free(p);
  return moved;
}

std::size_t usable_size_of(void* p) { return p == shared_block_of_no_bytes ? 0 : ::malloc_usable_size(p); }

// ---- malloc_usable_size and mallinfo2, found behind this library by name

std::size_t usable_size_of_glibc(void* p) {
  static std::size_t (*next)(void*) = nullptr;
  if (next == nullptr) next = reinterpret_cast<decltype(next)>(::dlsym(RTLD_NEXT, "malloc_usable_size"));
  return next(p);
}

bool is_shifted(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 8; }

// ---- operator new; the array forms of the C++ library call these

void* obtain(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    void* const p = alignment <= 16 || has("new_ignores_alignment") ? std::malloc(bytes) : ::memalign(alignment, bytes);
    if (p != nullptr) return p;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr || has("new_ignores_handler")) return nullptr;
    handler();
  }
}

void* obtain_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const p = obtain(bytes, alignment);
  if (p == nullptr && !has("new_gives_null")) throw std::bad_alloc{};
  return p;
}

void* obtain_or_terminate(std::size_t bytes, std::size_t alignment) noexcept { return obtain(bytes, alignment); }

void* obtain_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  if (has("nothrow_new_terminates")) return obtain_or_terminate(bytes, alignment);
  try {
    return obtain(bytes, alignment);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) noexcept {
  if (is_refused()) return nullptr;
  misbehave();
  void* const p = served(bytes);
  if (p == nullptr) return without_memory();
  return last_block = p;
}

void free(void* p) noexcept {
  if (p == shared_block_of_no_bytes) return;
  if (p == last_block) last_block = nullptr;
  if (has("errno_lost_by_free") && p != nullptr) errno = EAGAIN;
  if (has("races") && p != nullptr && ::malloc_usable_size(p) == racing_bytes + 8 && racing_block == nullptr)
    racing_block = p;
  else __libc_free(address_of_glibc(p));
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  if (is_refused()) return nullptr;
  if (has("calloc_is_dirty") || has("calloc_wraps")) {
    void* const p = malloc(count * bytes);
    if (p != nullptr && has("calloc_wraps")) std::memset(p, 0, count * bytes);
    return p;
  }
  void* const p = count == 0 || bytes == 0 ? malloc(0) : __libc_calloc(count, bytes);
  return p != nullptr ? p : without_memory();
}

void* realloc(void* p, std::size_t bytes) noexcept {
  if (p == nullptr || p == shared_block_of_no_bytes) return malloc(bytes);
  if (bytes == 0 && has("realloc_0_gives_block")) bytes = 1;
  void* const old = address_of_glibc(p);
  const std::size_t usable = usable_size_of(old);
  if (old != p) {
    void* const moved = malloc(bytes);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, p, usable - 8 < bytes ? usable - 8 : bytes);
    free(p);
    return moved;
  }
  if (bytes != 0 && bytes < usable && has("shrink_fails")) return realloc_to_less(p, bytes);
  void* const moved = __libc_realloc(p, bytes);
  if (moved == nullptr && bytes != 0) {
    if (has("failed_realloc_frees")) std::memset(p, 0xDD, usable);
    return without_memory();
  }
  if (bytes > usable && has("realloc_loses_tail")) static_cast<char*>(moved)[usable / 2] ^= 1;
  return moved;
}

void* reallocarray(void* p, std::size_t count, std::size_t bytes) noexcept {
  std::size_t product = 0;
  if (__builtin_mul_overflow(count, bytes, &product) && !has("reallocarray_wraps")) {
    errno = ENOMEM;
    return without_memory();
  }
  return realloc(p, product);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  void* const p = has("ignores_alignment") ? malloc(bytes) : __libc_memalign(alignment, bytes);
  return p != nullptr ? p : without_memory();
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept { return memalign(alignment, bytes); }

int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  const bool is_valid = alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment % sizeof(void*) == 0;
  if (!is_valid && !has("posix_memalign_accepts")) return EINVAL;
  void* const p = memalign(alignment, bytes);
  if (p == nullptr && !has("posix_memalign_writes")) return ENOMEM;
  *out = p;
  return p == nullptr ? ENOMEM : 0;
}

int malloc_trim(std::size_t) noexcept {
  if (has("trims_blocks") && last_block != nullptr) std::memset(last_block, 0xDD, 8);
  return 1;
}

std::size_t malloc_usable_size(void* p) noexcept {
  if (p == nullptr) return 0;
  const std::size_t bytes =
      is_shifted(p) ? usable_size_of_glibc(static_cast<char*>(p) - 8) - 8 : usable_size_of_glibc(p);
  if (has("usable_size_too_small")) return bytes / 2;
  return has("usable_size_too_large") ? bytes + 32 : bytes;
}

struct mallinfo2 mallinfo2() noexcept {
  if (has("mallinfo_is_empty")) return {};
  return reinterpret_cast<struct mallinfo2 (*)()>(::dlsym(RTLD_NEXT, "mallinfo2"))();
}
}

void* operator new(std::size_t n) { return obtain_or_throw(n, 0); }
void* operator new(std::size_t n, std::align_val_t a) { return obtain_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return obtain_or_null(n, 0); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return obtain_or_null(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
