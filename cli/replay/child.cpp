// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replays for one allocator, in a process that does nothing else.
#include "cli/replay/child.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/study/pooled_allocator.hpp>
#include <ashlar/study/replay.hpp>
#include <ashlar/study/replay_op.hpp>

#include "cli/replay/samples.hpp"
#include "cli/replay/windows.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

/// The malloc of this process: the C library's, or that of a preloaded library. New and delete are replayed as malloc
/// and free.
class system_allocator {
public:
  static constexpr bool touches = true;

  [[nodiscard]] void* allocate(detail::replay_request r) noexcept {
    const auto size = static_cast<std::size_t>(r.size());
    if (r.kind() == detail::replay_kind::allocate_zeroed) return std::calloc(1, size);
    if (r.alignment() <= alignof(std::max_align_t)) return std::malloc(size);
    return std::aligned_alloc(static_cast<std::size_t>(r.alignment()), size);
  }
  [[nodiscard]] void* reallocate(void* block, detail::replay_request, detail::replay_request r) noexcept {
    return std::realloc(block, std::max<std::size_t>(static_cast<std::size_t>(r.size()), 1));  // 0 might be a free
  }
  void deallocate(void* block, detail::replay_request) noexcept { std::free(block); }
};
static_assert(detail::replay_allocator<system_allocator>);

/// A lane's handle of an allocator that all lanes share.
template <class Allocator>
class shared_allocator {
public:
  static constexpr bool touches = true;

  explicit shared_allocator(Allocator& allocator) noexcept : allocator_(&allocator) {}

  [[nodiscard]] ASHLAR_INLINE void* allocate(detail::replay_request r) noexcept { return allocator_->allocate(r); }
  [[nodiscard]] void* reallocate(void* block, detail::replay_request was, detail::replay_request r) noexcept {
    return allocator_->reallocate(block, was, r);
  }
  ASHLAR_INLINE void deallocate(void* block, detail::replay_request r) noexcept { allocator_->deallocate(block, r); }

private:
  Allocator* allocator_;
};
static_assert(detail::replay_allocator<shared_allocator<detail::pooled_allocator<null_lock>>>);

/// No allocator: blocks come in turn from a ring that fits the cache; all large ones are one block. The replay loop
/// remains and, if `Touches`, the writes to memory that is always cached.
template <bool Touches>
class null_allocator {
public:
  static constexpr bool touches = Touches;
  static constexpr std::size_t ring_bytes = std::size_t{256} << 10;

  /// `large` is shared by all lanes and holds `touch::limit` bytes.
  explicit null_allocator(std::byte* large) : ring_(map_pages(ring_bytes)), large_(large) {}

  [[nodiscard]] void* allocate(detail::replay_request r) noexcept {
    if (r.size() > ring_bytes / 4 || r.alignment() > ring_bytes / 4) return large_;
    const auto size = static_cast<std::size_t>(r.size());
    std::size_t at = ashlar::align_up(next_, std::max<std::size_t>(static_cast<std::size_t>(r.alignment()), 16));
    if (at + size > ring_bytes) at = 0;
    next_ = at + size;
    return ring_ + at;
  }
  [[nodiscard]] void* reallocate(void*, detail::replay_request, detail::replay_request r) noexcept {
    return allocate(r);
  }
  void deallocate(void*, detail::replay_request) noexcept {}

private:
  std::byte* ring_;
  std::byte* large_;
  std::size_t next_ = 0;
};
static_assert(detail::replay_allocator<null_allocator<true>>);

replay_task parse_task(int argc, char** argv) {
  if (argc < 6) throw std::runtime_error("this flag is for the command's own use");
  return {static_cast<replay_stand>(std::atoi(argv[2])), std::atoi(argv[3]) != 0, argc > 6 ? argv[6] : "",
          std::atoi(argv[4]), std::atoi(argv[5])};
}

/// The dynamic linker only warns about a library that it cannot preload, so this looks for the provider of malloc.
void check_provider(const std::string& library) {
  if (library.empty()) return;
  Dl_info provider{};
  std::error_code ignored;
  if (::dladdr(::dlsym(RTLD_DEFAULT, "malloc"), &provider) == 0 ||
      !std::filesystem::equivalent(provider.dli_fname, library, ignored))
    throw std::runtime_error(library + " does not take over malloc");
}

template <class Allocator, class MakeAllocator>
replay_result measure(const replay_task& task, window_reader& windows, MakeAllocator make) {
  return task.latency ? measure_latency<Allocator>(windows, make) : measure_throughput<Allocator>(windows, make);
}

template <bool Touches>
replay_result measure_null(const replay_task& task, window_reader& windows) {
  std::byte* large = map_pages(detail::touch::limit);
  return measure<null_allocator<Touches>>(task, windows, [large] { return null_allocator<Touches>(large); });
}

template <class Lock>
replay_result measure_ashlar(const replay_task& task, window_reader& windows) {
  using pools = detail::pooled_allocator<Lock>;
  static pools allocator;  // never destroyed: it holds the blocks that the program did not free
  return measure<shared_allocator<pools>>(task, windows, [] { return shared_allocator<pools>(allocator); });
}

/// Each lane has its own heap, never destroyed.
replay_result measure_local_heap(const replay_task& task, window_reader& windows) {
  using heap = local_heap<>;
  return measure<detail::heap_allocator<heap>>(task, windows,
                                               [] { return detail::heap_allocator<heap>(*new heap(heap_options{})); });
}

/// One heap for all lanes, never destroyed; it distinguishes threads itself.
template <class Heap>
replay_result measure_shared(const replay_task& task, window_reader& windows) {
  Heap& all = *new Heap();
  return measure<detail::heap_allocator<Heap>>(task, windows, [&all] { return detail::heap_allocator<Heap>(all); });
}

/// A trace does not contain a plan of its program: this plan has no block, but each free compares with it.
struct unused_plan {
  std::array<std::uint64_t, 1> offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr unused_plan planned_in_vain{{0}, {64}, 64, 64};

replay_result measure(const replay_task& task) {
  window_reader windows(task.windows);
  switch (task.stand) {
    case replay_stand::null: return measure_null<true>(task, windows);
    case replay_stand::untouched: return measure_null<false>(task, windows);
    case replay_stand::ashlar:
      return windows.head().lanes == 1 ? measure_ashlar<null_lock>(task, windows)
                                       : measure_ashlar<spin_lock>(task, windows);
    case replay_stand::local_heap: return measure_local_heap(task, windows);
    case replay_stand::heap: return measure_shared<heap<>>(task, windows);
    case replay_stand::tiered_heap: return measure_shared<tiered_heap<static_plan<planned_in_vain>>>(task, windows);
    case replay_stand::system: break;
  }
  return measure<system_allocator>(task, windows, [] { return system_allocator(); });
}

}  // namespace

void replay_in_this_process(int argc, char** argv) {
  try {
    const replay_task task = parse_task(argc, argv);
    check_provider(task.library);
    if (task.windows < 0) ::_exit(exit_ok);
    const replay_result result = measure(task);
    if (::write(task.result, &result, sizeof result) != static_cast<ssize_t>(sizeof result)) ::_exit(exit_failure);
    ::_exit(exit_ok);
  } catch (const std::exception& error) {
    ::_exit(complain("replay", error.what()));
  }
}

namespace {

double to_ns(const timeval& t) noexcept {
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
}

/// Returns: the figure on the line of /proc/self/status that starts with `key`, in bytes.
std::uint64_t status_bytes(std::string_view key) noexcept {
  std::array<char, 4096> text{};
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t n = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  const std::string_view all(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t at = all.find(key);
  return at == all.npos ? 0 : std::strtoull(text.data() + at + key.size(), nullptr, 10) * 1024;
}

}  // namespace

thread_usage thread_usage::now() noexcept {
  timespec cpu{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {static_cast<double>(cpu.tv_sec) * 1e9 + static_cast<double>(cpu.tv_nsec), to_ns(usage.ru_utime),
          to_ns(usage.ru_stime), static_cast<std::uint64_t>(usage.ru_minflt)};
}

void thread_usage::add(const thread_usage& start, const thread_usage& end) noexcept {
  cpu_ns += end.cpu_ns - start.cpu_ns;
  user_ns += end.user_ns - start.user_ns;
  system_ns += end.system_ns - start.system_ns;
  faults += end.faults - start.faults;
}

std::uint64_t resident_bytes() noexcept { return status_bytes("VmRSS:"); }
std::uint64_t peak_resident_bytes() noexcept { return status_bytes("VmHWM:"); }
std::uint64_t held_bytes() noexcept { return status_bytes("VmData:"); }

void reset_peak_resident() noexcept {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  static_cast<void>(!::write(file, "5", 1));
  ::close(file);
}

}  // namespace ashlar::cli
