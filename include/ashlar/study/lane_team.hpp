// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A team of threads that does one thing together, then waits for the next: a barrier between the windows of a replay.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::inline ASHLAR_ABI::study {

/// `lanes` threads, the caller being lane 0: a team of one starts none and waits for nobody. Allocates while it is
/// being built and never again.
///
/// Thread safety: `run` from one thread.
class lane_team {
public:
  /// Throws: `std::system_error` if the machine has no more threads; those started are joined first.
  explicit lane_team(std::uint32_t lanes) : lanes_(lanes), crew_{this, {}} {
    crew_.threads.reserve(lanes);
    for (std::uint32_t lane = 1; lane < lanes; ++lane) crew_.threads.emplace_back([this, lane] { serve(lane); });
  }
  lane_team(const lane_team&) = delete;
  lane_team& operator=(const lane_team&) = delete;

  /// Effects: calls `f(lane)` in each lane's thread; returns when all have.
  template <class F>
  void run(F&& f) {
    left_.store(lanes_ - 1, std::memory_order_relaxed);
    post([](void* work, std::uint32_t lane) { (*static_cast<std::remove_reference_t<F>*>(work))(lane); }, &f);
    f(0);
    for (std::uint32_t left = left_.load(std::memory_order_acquire); left != 0;
         left = left_.load(std::memory_order_acquire))  // pairs with the fetch_sub in serve
      left_.wait(left, std::memory_order_acquire);
  }

private:
  using call = void (*)(void*, std::uint32_t);

  // Sends its threads home, also when the constructor fails half way.
  struct crew {
    lane_team* team;
    std::vector<std::thread> threads;
    ~crew() {
      team->post(nullptr, nullptr);
      for (std::thread& thread : threads) thread.join();
    }
  };

  void post(call f, void* work) noexcept {
    call_ = f;
    work_ = work;
    round_.fetch_add(1, std::memory_order_release);  // pairs with the wait in serve
    round_.notify_all();
  }

  void serve(std::uint32_t lane) {
    for (std::uint32_t round = 0;; ++round) {
      round_.wait(round, std::memory_order_acquire);
      if (call_ == nullptr) return;
      call_(work_, lane);
      if (left_.fetch_sub(1, std::memory_order_release) == 1) left_.notify_one();
    }
  }

  std::uint32_t lanes_;
  call call_ = nullptr;
  void* work_ = nullptr;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> left_{0};
  crew crew_;  // last: gone before what it works with
};

}  // namespace ashlar::inline ASHLAR_ABI::study
