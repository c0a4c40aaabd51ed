// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An echo server of coroutines, one for each connection and one for each request: no request allocates memory.
#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/face/coroutine_frame.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/pool_set.hpp>

namespace {

using frame_pools = ashlar::pool_set<ashlar::statistics<ashlar::page_resource>>;

// A coroutine that starts at once if it is awaited, and resumes the one that waits for it.
class task {
public:
  struct promise_type : ashlar::coroutine_frame<frame_pools> {
    std::coroutine_handle<> waits = std::noop_coroutine();

    task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct to_waiting : std::suspend_always {
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
          return ended.promise().waits;
        }
      };
      return to_waiting();
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };

  task(task&& from) noexcept : of_(std::exchange(from.of_, nullptr)) {}
  ~task() {
    if (of_) of_.destroy();
  }

  bool await_ready() noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waits) noexcept {
    of_.promise().waits = waits;
    return of_;
  }
  void await_resume() noexcept {}
  void start() { of_.resume(); }

private:
  explicit task(std::coroutine_handle<promise_type> of) : of_(of) {}
  std::coroutine_handle<promise_type> of_;
};

// A connection of the test: the main program plays the network.
struct connection {
  std::string_view received;
  std::size_t echoed = 0;
  std::coroutine_handle<> reader;

  auto read() {
    struct until_received {
      connection& of;
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<> suspended) noexcept { of.reader = suspended; }
      std::string_view await_resume() noexcept { return of.received; }
    };
    return until_received{*this};
  }
};

task echo(std::allocator_arg_t /*tag*/, frame_pools& /*frames*/, connection& peer, std::string_view request) {
  peer.echoed += request.size();
  co_return;
}

task serve(std::allocator_arg_t tag, frame_pools& frames, connection& peer) {
  while (true) co_await echo(tag, frames, peer, co_await peer.read());
}

}  // namespace

int main() {
  frame_pools frames;
  std::vector<connection> peers(100);
  std::vector<task> served;
  served.reserve(peers.size());
  const auto send = [&] {
    for (connection& peer : peers) {
      peer.received = "hello";
      peer.reader.resume();
    }
  };
  for (connection& peer : peers) served.push_back(serve(std::allocator_arg, frames, peer));
  for (task& each : served) each.start();
  send();
  const auto before = frames.upstream_resource().counters().allocations;
  for (int round = 0; round < 1000; ++round) send();
  const auto more = static_cast<std::size_t>(frames.upstream_resource().counters().allocations - before);

  std::size_t echoed = 0;
  for (const connection& peer : peers) echoed += peer.echoed;
  std::printf("%zu bytes echoed by 100,000 requests; memory was requested %zu times\n", echoed, more);
  return echoed == 5 * 100 * 1001 && more == 0 ? 0 : 1;
}
