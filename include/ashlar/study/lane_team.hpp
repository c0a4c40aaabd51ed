// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A team of threads that runs one function together, then waits for the next: a barrier between replay windows.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Why a lane stops: its round is over, or its thread ends and another continues the round.
enum class lane_stop : std::uint8_t { round, thread };

/// `lanes` threads, including the caller as lane 0: a team of one starts no thread and never waits. Allocates in its
/// constructor, and when a lane changes its thread.
///
/// Thread safety: `run` from one thread.
class lane_team {
public:
  /// Throws: `std::system_error` if the system has no more threads; those started are joined first.
  explicit lane_team(std::uint32_t lanes) : lanes_(lanes), crew_{this, {}} {
    crew_.sides.reserve(lanes);
    for (std::uint32_t lane = 1; lane < lanes; ++lane)
      crew_.sides.emplace_back()[0] = std::thread([this, lane] { serve(lane, 0, 0); });
  }
  lane_team(const lane_team&) = delete;
  lane_team& operator=(const lane_team&) = delete;

  /// Effects: calls `f(lane)` in each lane's thread; returns when all calls have returned `lane_stop::round`. On
  /// `lane_stop::thread` the thread ends and a new one calls `f(lane)` again; if no thread can be started, the old one
  /// continues. Expects: lane 0, the caller's, returns `lane_stop::round`.
  template <class F>
  void run(F&& f) {
    left_.store(lanes_ - 1, std::memory_order_relaxed);
    post([](void* work, std::uint32_t lane) { return (*static_cast<std::remove_reference_t<F>*>(work))(lane); }, &f);
    [[maybe_unused]] const lane_stop stop = f(0);
    ASHLAR_EXPECTS(stop == lane_stop::round, "ended the thread that runs a lane_team");
    for (std::uint32_t left = left_.load(std::memory_order_acquire); left != 0;
         left = left_.load(std::memory_order_acquire))  // pairs with the fetch_sub in serve
      left_.wait(left, std::memory_order_acquire);
  }

private:
  using call = lane_stop (*)(void*, std::uint32_t);
  // A lane's thread and, during a change of threads, the next one. Either place is written by the thread in the other
  // one, or before the first thread starts.
  using sides = std::array<std::thread, 2>;

  // Ends its threads, also if the constructor fails half way.
  struct crew {
    lane_team* team;
    std::vector<lane_team::sides> sides;
    ~crew() {
      team->post(nullptr, nullptr);
      for (lane_team::sides& pair : sides)
        for (std::thread& thread : pair)
          if (thread.joinable()) thread.join();
    }
  };

  void post(call f, void* work) noexcept {
    call_ = f;
    work_ = work;
    round_.fetch_add(1, std::memory_order_release);  // pairs with the wait in serve
    round_.notify_all();
  }

  // The loop of a thread, from `round` on, in `side` of its lane.
  void serve(std::uint32_t lane, std::uint32_t round, std::size_t side) {
    for (;; ++round) {
      round_.wait(round, std::memory_order_acquire);  // returns at once if the round has begun
      if (call_ == nullptr) return;
      while (call_(work_, lane) == lane_stop::thread)
        if (pass_on(lane, round, side)) return;
      if (left_.fetch_sub(1, std::memory_order_release) == 1) left_.notify_one();
    }
  }

  // Effects: starts a new thread, which continues the round when this one has ended. Returns: whether it started.
  bool pass_on(std::uint32_t lane, std::uint32_t round, std::size_t side) noexcept {
    lane_team::sides& pair = crew_.sides[lane - 1];
    const std::size_t next = 1 - side;
    ASHLAR_TRY {
      pair[next] = std::thread([this, &pair, lane, round, next] {
        pair[1 - next].join();
        serve(lane, round, next);
      });
      return true;
    }
    ASHLAR_CATCH_ALL { return false; }
  }

  std::uint32_t lanes_;
  call call_ = nullptr;
  void* work_ = nullptr;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> left_{0};
  crew crew_;  // last: destroyed before the members that it uses
};

}  // namespace ashlar::ASHLAR_ABI::detail
