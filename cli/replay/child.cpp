// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes and reads the temporary file of a compiled trace, and replays it once for one allocator, with all its lanes,
// in a process that does nothing else, and measures it.
#include "cli/replay/child.hpp"

#include <ctime>
#include <exception>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/study/lane_team.hpp>
#include <ashlar/study/latency_timer.hpp>
#include <ashlar/study/pooled_allocator.hpp>
#include <ashlar/study/replay.hpp>

#include "cli/preload/clock.hpp"
#include "cli/preload/memory_use.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

std::size_t mapped_bytes = 0;

double to_ns(const timeval& t) noexcept {
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
}

/// Returns: the figure on the line of /proc/self/status that starts with `key`, in bytes.
std::uint64_t status_bytes(std::string_view key) noexcept {
  return drop_in::status_fields("/proc/self/status", {key}).front();
}

/// The use of the calling thread so far, or between two readings.
struct thread_usage {
  double cpu_ns = 0;
  double user_ns = 0;
  double system_ns = 0;
  std::uint64_t faults = 0;

  [[nodiscard]] static thread_usage now() noexcept {
    const auto cpu_ns = static_cast<double>(recorder::clock_ns(CLOCK_THREAD_CPUTIME_ID));
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return {cpu_ns, to_ns(usage.ru_utime), to_ns(usage.ru_stime), static_cast<std::uint64_t>(usage.ru_minflt)};
  }
  void add(const thread_usage& start, const thread_usage& end) noexcept {
    cpu_ns += end.cpu_ns - start.cpu_ns;
    user_ns += end.user_ns - start.user_ns;
    system_ns += end.system_ns - start.system_ns;
    faults += end.faults - start.faults;
  }
};

/// Returns: bytes resident now; 0 if the system does not tell.
std::uint64_t resident_bytes() noexcept { return status_bytes("VmRSS:"); }
/// Returns: the peak of resident bytes since `reset_peak_resident`, or since the start of the process if that cannot
/// reset it.
std::uint64_t peak_resident_bytes() noexcept { return status_bytes("VmHWM:"); }
void reset_peak_resident() noexcept {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  static_cast<void>(!::write(file, "5", 1));
  ::close(file);
}
/// Returns: bytes of private memory mapped for writing, resident or not; 0 if the system does not tell.
std::uint64_t held_bytes() noexcept { return status_bytes("VmData:"); }

struct processor_clock {
  /// Returns: ticks now. Earlier instructions have finished, so that the timed work does not leak out.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t now() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    _mm_lfence();
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks = 0;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
#else
    return detail::steady_ticks::now();
#endif
  }
};
static_assert(detail::tick_clock<processor_clock>);

using processor_timer = detail::latency_timer<processor_clock>;

/// One replay. Its own memory is allocated before the first operation, and counted into the baseline.
template <detail::replay_allocator Allocator, class Timer>
class replay_measurement {
public:
  using clock = std::chrono::steady_clock;

  /// `make_allocator()` and `make_timer()` are called once for each lane.
  template <class MakeAllocator, class MakeTimer>
  replay_measurement(window_reader& windows, MakeAllocator make_allocator, MakeTimer make_timer)
      : windows_(&windows), team_(windows.head().lanes) {
    const std::span<detail::replay_slot> slots = map_slots(windows.head().slots);
    lanes_.reserve(windows.head().lanes);
    for (std::uint32_t i = 0; i < windows.head().lanes; ++i) lanes_.emplace_back(make_allocator(), make_timer());
    for (lane_state& lane : lanes_) lane.replay.emplace_back(lane.allocator, slots, lane.timer);
  }

  [[nodiscard]] replay_result run() {
    replay_result result;
    reset_peak_resident();
    result.baseline_bytes = resident_bytes();
    while (windows_->next()) {
      team_.run([this](std::uint32_t lane) { return run_lane(lane); });
      result.wall_ns += window_ns();
      result.threads_ns += threads_ns();
      result.held_bytes = std::max(result.held_bytes, above(mapped_pages_bytes(), held_bytes()));
    }
    result.peak_bytes = above(result.baseline_bytes, peak_resident_bytes());
    result.end_bytes = above(result.baseline_bytes, resident_bytes());
    result.operations = windows_->head().operations;
    result.lanes = windows_->head().lanes;
    sum(result);
    return result;
  }

  template <class F>
  void for_each_timer(F&& f) const {
    for (const lane_state& lane : lanes_) f(lane.timer);
  }

private:
  // The data that a running lane writes; 64-byte lines of two lanes never share written data.
  struct alignas(128) lane_state {
    lane_state(Allocator a, Timer t) : allocator(std::move(a)), timer(std::move(t)) {}
    Allocator allocator;
    Timer timer;
    std::vector<detail::replay_lane<Allocator, Timer>> replay;  // one; built where `allocator` and `timer` stay
    thread_usage usage;
    clock::time_point start, end;
    std::size_t done = 0;  // operations of the window, by threads that have ended since
    bool idle = true;
  };

  static std::span<detail::replay_slot> map_slots(std::uint32_t count) {
    auto* slots = reinterpret_cast<detail::replay_slot*>(map_pages(std::size_t{count} * sizeof(detail::replay_slot)));
    std::uninitialized_value_construct_n(slots, count);
    return {slots, count};
  }

  [[nodiscard]] static std::uint64_t above(std::uint64_t before, std::uint64_t now) noexcept {
    return now > before ? now - before : 0;
  }

  // The work of one of the lane's threads in a window: all the rest, or up to its end.
  detail::lane_stop run_lane(std::uint32_t index) {
    lane_state& lane = lanes_[index];
    const std::span<const detail::replay_op> left = windows_->lane(index).subspan(lane.done);
    if (lane.done == 0) lane.idle = left.empty();
    if (lane.idle) return detail::lane_stop::round;
    const thread_usage before = thread_usage::now();
    if (lane.done == 0) lane.start = clock::now();
    const std::size_t done = lane.replay.front().run(left);
    lane.end = clock::now();
    lane.usage.add(before, thread_usage::now());
    lane.done += done;
    if (done != 0 && left[done - 1].request.kind() == detail::replay_kind::end_thread) return detail::lane_stop::thread;
    lane.done = 0;
    return detail::lane_stop::round;
  }

  [[nodiscard]] double window_ns() const {
    clock::time_point start = clock::time_point::max(), end = clock::time_point::min();
    for (const lane_state& lane : lanes_) {
      if (lane.idle) continue;
      start = std::min(start, lane.start);
      end = std::max(end, lane.end);
    }
    return std::chrono::duration<double, std::nano>(end - start).count();
  }

  [[nodiscard]] double threads_ns() const {
    clock::duration all{};
    for (const lane_state& lane : lanes_)
      if (!lane.idle) all += lane.end - lane.start;
    return std::chrono::duration<double, std::nano>(all).count();
  }

  void sum(replay_result& result) const {
    for (const lane_state& lane : lanes_) {
      result.cpu_ns += lane.usage.cpu_ns;
      result.busiest_cpu_ns = std::max(result.busiest_cpu_ns, lane.usage.cpu_ns);
      result.user_ns += lane.usage.user_ns;
      result.system_ns += lane.usage.system_ns;
      result.faults += lane.usage.faults;
      const detail::replay_tally& tally = lane.replay.front().tally();
      result.failed += tally.failed;
      result.damaged += tally.damaged;
      result.waits += tally.waits;
      result.waited_ns += static_cast<double>(tally.waited_ns);
    }
  }

  window_reader* windows_;
  std::vector<lane_state> lanes_;
  detail::lane_team team_;  // last: its threads end before their data
};

template <class Allocator, class MakeAllocator>
replay_result measure_throughput(window_reader& windows, MakeAllocator make_allocator) {
  replay_measurement<Allocator, detail::no_timer> m(windows, make_allocator, [] { return detail::no_timer(); });
  return m.run();
}

/// Returns: the figures of `h`, with values in ticks.
latency_figures figures(const study::fine_histogram& h, double ns_per_tick) {
  const auto ns = [&](double q) { return static_cast<double>(h.quantile(q)) * ns_per_tick; };
  return {ns(0.5), ns(0.99), ns(0.999), static_cast<double>(h.max()) * ns_per_tick, h.count()};
}

/// Returns: the same with every call timed.
template <class Allocator, class MakeAllocator>
replay_result measure_latency(window_reader& windows, MakeAllocator make_allocator) {
  const detail::tick_calibration<processor_clock> calibration;
  const std::uint64_t overhead = detail::clock_overhead<processor_clock>();
  replay_measurement<Allocator, processor_timer> m(windows, make_allocator, [&] { return processor_timer(overhead); });
  replay_result result = m.run();
  study::fine_histogram allocations, frees;
  m.for_each_timer([&](const processor_timer& t) {
    allocations.merge(t.allocations());
    frees.merge(t.deallocations());
  });
  const double ns_per_tick = calibration.ns_per_tick();
  result.timer_ns = static_cast<double>(overhead) * ns_per_tick;
  result.timer_step_ns = static_cast<double>(detail::clock_step<processor_clock>()) * ns_per_tick;
  result.allocations = figures(allocations, ns_per_tick);
  result.frees = figures(frees, ns_per_tick);
  allocations.merge(frees);
  result.calls = figures(allocations, ns_per_tick);
  return result;
}

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

std::byte* map_pages(std::size_t bytes) {
  void* pages = ::mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED)
    throw std::runtime_error(std::string("no memory for the replay itself: ") + std::strerror(errno));
  mapped_bytes += bytes;
  return static_cast<std::byte*>(pages);
}

std::size_t mapped_pages_bytes() noexcept { return mapped_bytes; }

window_writer::window_writer(temporary_file& file) : file_(&file) {
  const window_file_head room;
  file.write(std::as_bytes(std::span(&room, 1)));
}

void window_writer::operator()(const detail::replay_window& window) {
  counts_.assign(window.lane_counts.begin(), window.lane_counts.end());
  if (counts_.size() % 2 != 0) counts_.push_back(0);  // so that operations stay aligned in the reader's buffer
  const window_head head{static_cast<std::uint32_t>(counts_.size()),
                         static_cast<std::uint32_t>(window.operations.size())};
  file_->write(std::as_bytes(std::span(&head, 1)));
  file_->write(std::as_bytes(std::span(counts_)));
  file_->write(std::as_bytes(window.operations));
  largest_ = std::max<std::uint64_t>(largest_, counts_.size() * sizeof(counts_[0]) + window.operations.size_bytes());
}

void window_writer::finish(const detail::replay_counts& counts) {
  const window_file_head head{counts.operations, counts.windows, largest_, counts.slot_count, counts.lanes};
  file_->rewrite_start(std::as_bytes(std::span(&head, 1)));
}

window_reader::window_reader(int descriptor) : descriptor_(descriptor) {
  read(&head_, sizeof head_);
  windows_left_ = head_.windows;
  buffer_ = map_pages(static_cast<std::size_t>(head_.largest_window));
  const std::size_t firsts = std::size_t{head_.lanes} + 2;
  first_ = {reinterpret_cast<std::size_t*>(map_pages(firsts * sizeof(std::size_t))), firsts};
}

bool window_reader::next() {
  if (windows_left_ == 0) return false;
  --windows_left_;
  read(&window_, sizeof window_);
  const std::size_t counts_bytes = window_.lanes * sizeof(std::uint32_t);
  read(buffer_, counts_bytes + window_.operations * sizeof(detail::replay_op));
  const auto* counts = reinterpret_cast<const std::uint32_t*>(buffer_);
  std::fill(first_.begin(), first_.end(), window_.operations);
  first_[0] = 0;
  for (std::size_t lane = 0; lane < window_.lanes; ++lane) first_[lane + 1] = first_[lane] + counts[lane];
  return true;
}

std::span<const detail::replay_op> window_reader::lane(std::uint32_t lane) const noexcept {
  const auto* operations = reinterpret_cast<const detail::replay_op*>(buffer_ + window_.lanes * sizeof(std::uint32_t));
  return {operations + first_[lane], operations + first_[lane + 1]};
}

void window_reader::read(void* to, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const ssize_t n = ::pread(descriptor_, at, bytes, static_cast<off_t>(offset_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error("the compiled trace ends early");
    at += n;
    bytes -= static_cast<std::size_t>(n);
    offset_ += static_cast<std::uint64_t>(n);
  }
}

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

}  // namespace ashlar::cli
