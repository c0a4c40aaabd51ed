// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a trace in a thread of its own, some thousand events before those that the verb works on.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include <ashlar/base/event.hpp>

namespace ashlar::cli {

/// The thread starts with the first `next()`. Nothing else may use the reader until `next()` has returned null.
template <class Reader>
class read_ahead {
public:
  /// `count` is called with the number of events of each batch.
  explicit read_ahead(
      Reader& reader, std::function<void(std::size_t)> count = [](std::size_t) {})
      : reader_(reader), count_(std::move(count)) {}
  read_ahead(const read_ahead&) = delete;
  read_ahead& operator=(const read_ahead&) = delete;

  ~read_ahead() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      is_abandoned_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Returns: the next event, valid until the next call; null at the end. Throws: what the reader has thrown.
  [[nodiscard]] const trace::event* next() {
    if (rest_.empty() && !has_more()) return nullptr;
    const trace::event* const e = &rest_.front();
    rest_ = rest_.subspan(1);
    return e;
  }

  /// Returns: some of the next events, valid until the next call; none at the end. Throws: what the reader has thrown.
  [[nodiscard]] std::span<const trace::event> next_batch() {
    return rest_.empty() && !has_more() ? std::span<const trace::event>{} : std::exchange(rest_, {});
  }

private:
  static constexpr std::size_t batch_events = 4096;

  struct batch {
    std::array<trace::event, batch_events> events;
    std::size_t count = 0;
  };

  bool has_more() {
    if (is_last_) return fail_if_due();
    if (!thread_.joinable()) thread_ = std::thread([this] { read_all(); });
    else hand_over(taken_);  // the batch worked on until now
    wait_until([this] { return filled_ != taken_; });
    const batch& b = batches_[taken_ % batches_.size()];
    rest_ = std::span(b.events).first(b.count);
    is_last_ = b.count < batch_events;
    count_(b.count);
    if (is_last_) thread_.join();
    return b.count != 0 || fail_if_due();
  }

  /// Returns: false. Throws: what the reader has thrown behind the last event.
  bool fail_if_due() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return false;
  }

  void read_all() noexcept {
    for (std::size_t next = 0; wait_until([&] { return next - taken_ < batches_.size(); }); ++next) {
      batch& b = batches_[next % batches_.size()];
      try {
        fill(b);
      } catch (...) {
        failure_ = std::current_exception();
      }
      hand_over(filled_);
      if (b.count < batch_events) return;
    }
  }

  /// The other thread's processor has read the places last, so that a write has to wait for each.
  void fill(batch& b) {
    constexpr std::size_t ahead = 32;
    for (b.count = 0; b.count < batch_events && reader_.next(b.events[b.count]); ++b.count)
      if (b.count + ahead < batch_events) ASHLAR_FETCH_TO_WRITE(&b.events[b.count + ahead]);
  }

  /// Effects: counts one more batch as filled, or as taken.
  void hand_over(std::size_t& count) {
    {
      const std::lock_guard lock(mutex_);
      ++count;
    }
    changed_.notify_one();
  }

  /// Returns: false if the events are not wanted any more.
  template <class Condition>
  bool wait_until(Condition is_met) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_met() || is_abandoned_; });
    return !is_abandoned_;
  }

  Reader& reader_;
  std::function<void(std::size_t)> count_;
  std::array<batch, 8> batches_;  // the two threads are seldom equally fast for long
  std::size_t filled_ = 0, taken_ = 0;
  std::span<const trace::event> rest_;
  bool is_last_ = false;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_abandoned_ = false;
  std::exception_ptr failure_;
};

}  // namespace ashlar::cli
