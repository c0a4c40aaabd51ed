// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A trace that resources write into: what tracing adaptors share.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/system/modules.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/detail/trace/checksum.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/trace/codec.hpp>
#include <ashlar/trace/error.hpp>
#include <ashlar/trace/event.hpp>
#include <ashlar/trace/sink.hpp>
#include <ashlar/trace/writer.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// One trace file, in the format of `ashlar record`, in the making. Any number of `tracing` adaptors write into one, in
/// the order of their calls. What cannot be written, for want of memory or of disk, is counted and left out; the
/// program goes on. The writer's own memory comes from the global heap, a buffer of `chunk_records` records and one
/// entry for each distinct call stack: what it asks for does not show in the trace, even where that heap is traced into
/// this very log. Thread safety: any thread, where `Lock` is a lock; threads are numbered as they come, over all logs
/// of the process.
template <class Codec, class Sink, basic_lockable Lock>
class trace_log {
public:
  using lock_type = Lock;

  /// Effects: writes the file header; time starts now.
  explicit trace_log(Sink sink, const trace::writer_options& options = {})
      : writer_(std::move(sink), dated(options)), start_(clock::now()) {}
  explicit trace_log(const std::string& path, const trace::writer_options& options = {})
    requires std::constructible_from<Sink, const std::string&>
      : trace_log(Sink(path), options) {}

  trace_log(const trace_log&) = delete;
  trace_log& operator=(const trace_log&) = delete;
  ~trace_log() { static_cast<void>(close()); }

  /// Effects: notes that a call returned `p`, or failed where `p` is null.
  void allocated(const void* p, std::size_t bytes, std::size_t alignment,
                 std::span<const void* const> frames) noexcept {
    note([&] {
      return append({.op = trace::operation::new_,
                     .size = bytes,
                     .alignment = told(alignment),
                     .object = id(p),
                     .stack = stack_of(frames)});
    });
  }

  /// Effects: notes that the block at `p` goes back; `bytes` is 0 where the caller did not say. Call it before the
  /// block does go back, or its address may come again first.
  void freed(const void* p, std::size_t bytes, std::size_t alignment, std::span<const void* const> frames) noexcept {
    note([&] {
      return append({.op = trace::operation::delete_,
                     .size = bytes,
                     .alignment = told(alignment),
                     .object = id(p),
                     .stack = stack_of(frames)});
    });
  }

  /// Effects: notes that the block at `p` has now `bytes`.
  void resized(const void* p, std::size_t bytes, std::size_t alignment, std::span<const void* const> frames) noexcept {
    note([&] {
      return append({.op = trace::operation::realloc_,
                     .size = bytes,
                     .alignment = told(alignment),
                     .object = id(p),
                     .old_object = id(p),
                     .stack = stack_of(frames)});
    });
  }

  /// Effects: notes a point in time: `ashlar replay` and `report` show it.
  void mark(std::uint64_t number) noexcept {
    note([&] { return append({.op = trace::operation::mark, .size = number}); });
  }

  /// Effects: notes which files are mapped now, by which call stacks are read later. `close` does so as well, where
  /// there are any; call it before a library is unloaded.
  void add_modules() noexcept {
    detail::for_each_module([this](const detail::module_place& m) {
      note([&] {
        return writer_.add_module(
            {.begin = m.begin, .end = m.end, .bias = m.bias, .path = std::string(m.path), .build_id = {}});
      });
    });
  }

  /// Effects: ends the trace in order; what comes later is left out. Expects: no other thread uses the log meanwhile.
  /// Returns: whether nothing was left out.
  bool close() {
    if (!std::exchange(closed_, true) && !stacks_.empty()) add_modules();
    const writing_scope writing(this);
    const scope held(lock_);
    return writer_.close() && lost_ == 0;
  }

  /// Returns: how many events could not be written.
  [[nodiscard]] std::uint64_t lost() const noexcept {
    const scope held(lock_);
    return lost_;
  }

  /// Returns: why, where it was not for want of memory.
  [[nodiscard]] std::optional<trace::trace_error> error() const {
    const writing_scope writing(this);  // the words of an error are copied
    const scope held(lock_);
    return writer_.error();
  }

private:
  using clock = std::chrono::steady_clock;
  using scope = check_scope<detail::fork_safe<Lock>>;

  // The logs that this thread is writing into, the innermost first. The writer is at work then, under the lock: what it
  // asks of a heap that is traced into the same log cannot be noted.
  class writing_scope {
  public:
    explicit writing_scope(const trace_log* log) noexcept : log_(log), outer_(std::exchange(innermost_, this)) {}
    writing_scope(const writing_scope&) = delete;
    writing_scope& operator=(const writing_scope&) = delete;
    ~writing_scope() { innermost_ = outer_; }

    [[nodiscard]] static bool is_within(const trace_log* log) noexcept {
      const writing_scope* scope = innermost_;
      while (scope != nullptr && scope->log_ != log) scope = scope->outer_;
      return scope != nullptr;
    }

  private:
    static inline constinit thread_local const writing_scope* innermost_ = nullptr;

    const trace_log* log_;
    const writing_scope* outer_;
  };

  [[nodiscard]] static trace::writer_options dated(trace::writer_options options) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    if (options.start_unix_ns == 0)
      options.start_unix_ns =
          static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    return options;
  }

  // The writer takes any number that no other live object has: an address is one.
  [[nodiscard]] static std::uint64_t id(const void* p) noexcept { return detail::address_of(p); }

  // A trace says 0 for what any allocator grants unasked.
  [[nodiscard]] static std::uint64_t told(std::size_t alignment) noexcept {
    return alignment > alignof(std::max_align_t) ? alignment : 0;
  }

  [[nodiscard]] static std::uint32_t thread_number() noexcept {
    static constinit std::atomic<std::uint32_t> next = 0;
    thread_local const std::uint32_t mine = next.fetch_add(1, std::memory_order_relaxed);
    return mine;
  }

  template <class Put>
  void note(Put put) noexcept {
    if (writing_scope::is_within(this)) return;
    const writing_scope writing(this);
    const scope held(lock_);
    ASHLAR_TRY {
      if (!put()) ++lost_;
    }
    ASHLAR_CATCH_ALL { ++lost_; }
  }

  // Expects: the lock is held, so that times are in order.
  [[nodiscard]] bool append(trace::event e) {
    e.time_ns = now();
    e.thread = thread_number();
    return writer_.append(e);
  }

  [[nodiscard]] std::uint64_t now() const noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start_).count());
  }

  // 64 bits of hash stand for the stack: among a million stacks two are taken for one with a chance of 1 in 10^7.
  [[nodiscard]] std::uint32_t stack_of(std::span<const void* const> frames) {
    if (frames.empty()) return 0;
    std::uint32_t& number = stacks_[detail::trace_io::checksum(std::as_bytes(frames))];
    if (number != 0) return number;  // 0: it is new, or could not be written the last time
    std::vector<std::uint64_t> numbers;
    for (const void* const each : frames) numbers.push_back(detail::address_of(each));
    return number = writer_.add_stack(numbers);
  }

  trace::writer<Codec, Sink> writer_;
  clock::time_point start_;
  std::unordered_map<std::uint64_t, std::uint32_t> stacks_;
  std::uint64_t lost_ = 0;
  bool closed_ = false;
  mutable detail::fork_safe<Lock> lock_ = {};
};

}  // namespace ASHLAR_ABI
}  // namespace ashlar
