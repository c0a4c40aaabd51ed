// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread fills buffers of a megabyte, another empties them: memory resident from the start, lock-free releases.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <thread>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

struct frame {
  std::array<std::byte, 1 << 20> pixels;
  frame() noexcept {}  // leaves the pixels unchanged
};

// `ashlar::fresh::locked` in place of `ashlar::fresh::resident` would keep the frames from being swapped out, or report
// that it cannot.
struct frame_traits : ashlar::object_pool_traits {
  static constexpr std::size_t capacity = ashlar::dynamic_capacity;
  using lifetime = ashlar::keep_constructed<>;
  using exhausted = ashlar::null_when_exhausted;
  using threads = ashlar::any_thread<>;
  using upstream = ashlar::basic_page_resource<ashlar::fresh::resident<ashlar::fresh::huge>>;
};
using frame_pool = ashlar::object_pool<frame, frame_traits>;

int main() {
  frame_pool frames(4);
  frames.reserve();  // one allocation, every page resident
  std::atomic<frame*> hand = nullptr;
  std::atomic<int> shown = 0;

  std::thread screen([&] {
    while (shown < 100) {
      // Pairs with the exchange below: the other thread wrote the pixels.
      if (frame* const each = hand.exchange(nullptr, std::memory_order_acquire)) {
        ++shown;
        frames.release(each);  // lock-free, from any thread
      }
    }
  });
  int dropped = 0;
  while (shown < 100) {
    frame* const next = frames.acquire();
    if (next == nullptr) continue;
    next->pixels[0] = std::byte{1};
    if (frame* const late = hand.exchange(next, std::memory_order_acq_rel)) ++dropped, frames.release(late);
  }
  screen.join();
  if (frame* const left = hand.exchange(nullptr)) frames.release(left);
  std::printf("shown %d, dropped some: %s, all home: %s\n", shown.load(), dropped > 0 ? "yes" : "no",
              frames.empty() ? "yes" : "no");
  return frames.empty() ? 0 : 1;
}
