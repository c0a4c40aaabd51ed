// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One trace file that any number of tracing adaptors write.
#pragma once

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

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/trace_source.hpp>
#include <ashlar/base/trace_tables.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/detail/thread/work_scope.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/trace/sink.hpp>
#include <ashlar/trace/writer.hpp>

namespace ashlar::ASHLAR_ABI {

/// An open trace file in the format of `ashlar record`. Any number of `tracing` adaptors write to one log, in the order
/// of their calls. An event that cannot be written, because memory or the disk is full, is counted and left out; the
/// program goes on.
///
/// The writer's own memory comes from the global heap: a buffer of `chunk_records` records and one entry for each
/// distinct call stack. These allocations are not in the trace, even if that heap is traced to this very log. Thread
/// safety: any thread, if `Lock` is a lock. Threads are numbered in the order of their first event, over all logs of
/// the process.
template <class Codec, class Sink, basic_lockable Lock>
class trace_log {
public:
  using lock_type = Lock;

  /// Effects: writes the file header; time 0 of the trace is now.
  explicit trace_log(Sink sink, const trace::writer_options& options = {})
      : writer_(std::move(sink), dated(options)), start_(clock::now()) {}
  explicit trace_log(const std::string& path, const trace::writer_options& options = {})
    requires std::constructible_from<Sink, const std::string&>
      : trace_log(Sink(path), options) {}

  trace_log(const trace_log&) = delete;
  trace_log& operator=(const trace_log&) = delete;
  ~trace_log() { static_cast<void>(close()); }

  /// Effects: records a call that returned `p`, or that failed if `p` is null.
  void allocated(const void* p, std::size_t bytes, std::size_t alignment,
                 std::span<const void* const> frames) noexcept {
    note_call({.op = trace::operation::new_, .size = bytes, .object = id(p)}, alignment, frames);
  }

  /// Effects: records a free of the block at `p`; `bytes` is 0 if the caller passed no size. Call it before the free:
  /// afterwards the address may be handed out again first.
  void freed(const void* p, std::size_t bytes, std::size_t alignment, std::span<const void* const> frames) noexcept {
    note_call({.op = trace::operation::delete_, .size = bytes, .object = id(p)}, alignment, frames);
  }

  /// Effects: records that the block at `p` has `bytes` from now on.
  void resized(const void* p, std::size_t bytes, std::size_t alignment, std::span<const void* const> frames) noexcept {
    note_call({.op = trace::operation::realloc_, .size = bytes, .object = id(p), .old_object = id(p)}, alignment,
              frames);
  }

  /// Effects: records a point in time, shown by `ashlar replay` and `report`.
  void mark(std::uint64_t number) noexcept {
    note([&] { return append({.op = trace::operation::mark, .size = number}); });
  }

  /// Effects: records the files mapped now, which later symbolise the call stacks. `close` does so too if there are
  /// stacks; call it before a library is unloaded.
  void add_modules() noexcept {
    const lock_scope held(listing_);
    detail::for_each_module([this](const auto& m) {
      note([&] {
        return writer_.add_module(
            {.begin = m.begin, .end = m.end, .bias = m.bias, .path = std::string(m.path), .build_id = {}});
      });
    });
  }

  /// Effects: ends the trace in order; later events are left out. Expects: no other thread uses the log meanwhile.
  /// Returns: whether every event was written.
  bool close() {
    if (!std::exchange(closed_, true) && !stacks_.empty()) add_modules();
    const writing_scope writing(this);
    const scope held(lock_);
    return writer_.close() && lost_ == 0;
  }

  /// Returns: the number of events that could not be written.
  [[nodiscard]] std::uint64_t lost() const noexcept {
    const scope held(lock_);
    return lost_;
  }

  /// Returns: the cause of the loss, unless memory ran out.
  [[nodiscard]] std::optional<trace::trace_error> error() const {
    const writing_scope writing(this);  // the message of the error is copied
    const scope held(lock_);
    return writer_.error();
  }

private:
  using clock = std::chrono::steady_clock;
  using scope = check_scope<detail::fork_safe<Lock>>;

  // The writer works under the lock: its own allocations from a heap that is traced to the same log cannot be recorded.
  using writing_scope = detail::work_scope<trace_log>;

  [[nodiscard]] static trace::writer_options dated(trace::writer_options options) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    if (options.start_unix_ns == 0)
      options.start_unix_ns =
          static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    return options;
  }

  // The writer takes any number that no other live object has, such as an address.
  [[nodiscard]] static std::uint64_t id(const void* p) noexcept { return address_of(p); }

  // A trace has 0 for an alignment that every allocator grants without a request.
  [[nodiscard]] static std::uint64_t told(std::size_t alignment) noexcept {
    return alignment > alignof(std::max_align_t) ? alignment : 0;
  }

  [[nodiscard]] static std::uint32_t thread_number() noexcept {
    static constinit detail::relaxed_atomic<std::uint32_t> next = 0;
    thread_local const std::uint32_t mine = next.fetch_add(1);
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

  void note_call(trace::event e, std::size_t alignment, std::span<const void* const> frames) noexcept {
    e.alignment = told(alignment);
    note([&] {
      e.stack = stack_of(frames);
      return append(e);
    });
  }

  // Expects: the lock is held, so that times ascend.
  [[nodiscard]] bool append(trace::event e) {
    e.time_ns = now();
    e.thread = thread_number();
    return writer_.append(e);
  }

  [[nodiscard]] std::uint64_t now() const noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start_).count());
  }

  // A 64-bit hash identifies the stack: among a million stacks the chance of a collision is 1 in 10^7.
  [[nodiscard]] std::uint32_t stack_of(std::span<const void* const> frames) {
    if (frames.empty()) return 0;
    std::uint32_t& number = stacks_[detail::trace_io::checksum(std::as_bytes(frames))];
    if (number != 0) return number;  // 0: the stack is new, or the last write of it failed
    std::vector<std::uint64_t> numbers;
    for (const void* const each : frames) numbers.push_back(address_of(each));
    return number = writer_.add_stack(numbers);
  }

  trace::writer<Codec, Sink> writer_;
  clock::time_point start_;
  std::unordered_map<std::uint64_t, std::uint32_t> stacks_;
  std::uint64_t lost_ = 0;
  bool closed_ = false;
  mutable detail::fork_safe<Lock> lock_ = {};
  // The C library has no fork wait for a thread that lists modules: a child would wait for its lock forever.
  static inline constinit detail::fork_safe<spin_lock> listing_{};
};

}  // namespace ashlar::ASHLAR_ABI
