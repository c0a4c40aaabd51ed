// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a trace for the tests of `ashlar replay` and `ashlar report`: replay_sample_trace FILE EVENTS THREADS.
#include <cstdlib>
#include <random>

#include <ashlar/trace/writer.hpp>

namespace {

namespace trace = ashlar::trace;

/// A made-up program: it keeps up to 1,000 objects and frees them in random order, from any of its threads.
class sample_program {
public:
  explicit sample_program(std::uint32_t threads) : threads_(threads) {}

  trace::event step() {
    trace::event e;
    e.time_ns = now_ns_ += below(200);
    e.thread = static_cast<std::uint32_t>(below(threads_));
    if (live_.empty() || (live_.size() < 1000 && below(3) != 0)) allocate(e);
    else release(e);
    return e;
  }

private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  std::uint64_t take() {
    const std::size_t i = below(live_.size());
    const std::uint64_t object = live_[i];
    live_[i] = live_.back();
    live_.pop_back();
    return object;
  }

  void allocate(trace::event& e) {
    e.op = trace::operation::malloc_;
    e.size = 1 + below(std::uint64_t{16} << below(8));
    if (below(8) == 0) e.op = trace::operation::calloc_;
    if (below(16) == 0) e.op = trace::operation::aligned_alloc_, e.alignment = std::uint64_t{32} << below(4);
    if (below(16) == 0 && !live_.empty()) e.op = trace::operation::realloc_, e.alignment = 0, e.old_object = take();
    live_.push_back(e.object = ++objects_);
  }

  void release(trace::event& e) {
    e.op = trace::operation::free_;
    e.object = take();
  }

  std::mt19937_64 random_{1};
  std::uint32_t threads_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t objects_ = 0;
  std::vector<std::uint64_t> live_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  trace::writer<> out(trace::file_sink(argv[1]), {.command_line = {"sample", "program"}});
  sample_program program(static_cast<std::uint32_t>(std::atoi(argv[3])));
  for (long long i = std::atoll(argv[2]); i > 0; --i)
    if (!out.append(program.step())) return 1;
  return out.close() ? 0 : 1;
}
