// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The system calls of os/pages, during each of which another thread does something: does it wait for the caller?
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <ashlar/os/pages.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar_test {

/// What another thread does during the calls of one thread. Does not use GoogleTest.
class interlude {
public:
  /// Effects: from now on another thread runs `what` during each call of this one, up to `end`.
  void begin(std::function<void()> what) {
    is_over_ = false;
    other_ = std::thread([this, does = std::move(what)] { serve(does); });
    is_mine() = true;
  }
  void end() {
    is_mine() = false;
    {
      const std::lock_guard held(lock_);
      is_over_ = true;
      change_.notify_all();
    }
    other_.join();
  }

  void meet() {
    if (!is_mine() || waits != 0) return;
    std::unique_lock held(lock_);
    const std::size_t last = ++meetings;
    change_.notify_all();
    waits += change_.wait_for(held, std::chrono::seconds(30), [&] { return served_ == last; }) ? 0U : 1U;
  }

  std::size_t meetings = 0;
  std::size_t waits = 0;  ///< calls for whose end the other has waited; after the first one there are no more

private:
  static bool& is_mine() {
    static thread_local bool mine = false;
    return mine;
  }

  void serve(const std::function<void()>& does) {
    for (std::unique_lock held(lock_);; ++served_, change_.notify_all()) {
      change_.wait(held, [&] { return is_over_ || served_ != meetings; });
      if (is_over_) return;
      held.unlock();
      does();
      held.lock();
    }
  }

  std::mutex lock_;
  std::condition_variable change_;
  std::thread other_;
  std::size_t served_ = 0;
  bool is_over_ = false;
};

template <class Tag, class System = ashlar::os::system_calls>
struct interleaved_calls : System {
  static inline interlude others;

  [[nodiscard]] static void* map(std::size_t bytes, bool accessible) noexcept {
    return others.meet(), System::map(bytes, accessible);
  }
  [[nodiscard]] static void* map_near(void* place, std::size_t bytes, bool accessible) noexcept
    requires requires { System::map_near(place, bytes, accessible); }
  {
    return others.meet(), System::map_near(place, bytes, accessible);
  }
  [[nodiscard]] static void* map_aligned(std::size_t bytes, std::size_t alignment, bool accessible) noexcept
    requires requires { System::map_aligned(bytes, alignment, accessible); }
  {
    return others.meet(), System::map_aligned(bytes, alignment, accessible);
  }
  [[nodiscard]] static bool unmap(void* p, std::size_t bytes) noexcept {
    return others.meet(), System::unmap(p, bytes);
  }
  [[nodiscard]] static bool protect(void* p, std::size_t bytes, bool accessible) noexcept {
    return others.meet(), System::protect(p, bytes, accessible);
  }
  [[nodiscard]] static bool discard(void* p, std::size_t bytes) noexcept {
    return others.meet(), System::discard(p, bytes);
  }
  [[nodiscard]] static bool advise_huge(void* p, std::size_t bytes) noexcept {
    return others.meet(), System::advise_huge(p, bytes);
  }
  [[nodiscard]] static bool grow(void* p, std::size_t bytes, std::size_t new_bytes) noexcept
    requires requires { System::grow(p, bytes, new_bytes); }
  {
    return others.meet(), System::grow(p, bytes, new_bytes);
  }
  [[nodiscard]] static bool move(void* p, std::size_t bytes, void* place, std::size_t new_bytes) noexcept
    requires requires { System::move(p, bytes, place, new_bytes); }
  {
    return others.meet(), System::move(p, bytes, place, new_bytes);
  }
};

template <class Tag, class Fresh = ashlar::fresh::plain>
using interleaved_pages = ashlar::basic_page_resource<Fresh, ashlar::os::basic_pages<interleaved_calls<Tag>>>;

}  // namespace ashlar_test
