// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The share of a small address space that a program gets as blocks, and its share again after half of them are freed.
//
// heap_limits <limit in MB> <bytes> <peer>     one cell of the table per process, one JSON line
// heap_limits --cells                          the list of cells
//
// The program restarts itself under RLIMIT_AS, as `ulimit -v` would: the memory of the loader, the libraries and the
// heap counts.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "heaps.hpp"
#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"

namespace bench {
namespace {

constexpr std::size_t megabyte = 1'000'000;
constexpr int exit_refilled = 0;

// Blocks linked into a list, so that no other memory is needed. All but the first word stays untouched.
template <class Heap>
class list_of_blocks {
public:
  explicit list_of_blocks(std::size_t bytes) : bytes_(bytes) {}

  std::size_t fill() {
    while (void* const p = take()) first_ = ::new (p) link{first_}, ++count_;
    return count_ * bytes_;
  }

  void free_every_second() {
    for (link* at = first_; at != nullptr && at->next != nullptr; at = at->next) {
      heap_.free(std::exchange(at->next, at->next->next));
      --count_;
    }
  }

private:
  struct link {
    link* next;
  };

  void* take() noexcept {
    try {
      return heap_.allocate(bytes_);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  Heap heap_;
  std::size_t bytes_;
  link* first_ = nullptr;
  std::size_t count_ = 0;
};

struct outcome {
  std::uint64_t live = 0;   // bytes of blocks when the first request was refused,
  std::uint64_t again = 0;  // and when every second block had been freed and another request was refused
};

// The inner process. Results go to a pipe at once: the progress of a peer that dies is known.
template <class Heap>
int fill_twice(std::size_t bytes, int pipe) {
  list_of_blocks<Heap> blocks(bytes);
  for (int turn = 0; turn < 2; ++turn) {
    const std::uint64_t live = blocks.fill();
    if (::write(pipe, &live, sizeof live) != sizeof live) return 1;
    blocks.free_every_second();
  }
  return exit_refilled;
}

struct row {
  contender who;
  int (*fill)(std::size_t bytes, int pipe);
};

constexpr row rows[] = {
    {{"glibc", "malloc, glibc", true}, fill_twice<malloc_heap>},
    {{"mimalloc", "malloc, mimalloc", true}, fill_twice<malloc_heap>},
    {{"jemalloc", "malloc, jemalloc", true}, fill_twice<malloc_heap>},
    {{"tcmalloc", "malloc, tcmalloc", true}, fill_twice<malloc_heap>},
    {{"rpmalloc", "malloc, rpmalloc", true}, fill_twice<malloc_heap>},
    {{"snmalloc", "malloc, snmalloc", true}, fill_twice<malloc_heap>},
    {{"ashlar", "ashlar::local_heap", true}, fill_twice<ashlar_heap>},
};

constexpr std::array<std::string_view, 5> limits{"32", "64", "128", "300", "600"};
constexpr std::array<std::string_view, 5> sizes{"48", "1000", "20000", "200000", "5000000"};

std::size_t number_of(std::string_view digits) { return std::strtoull(digits.data(), nullptr, 10); }

[[noreturn]] void start_limited(std::size_t limit, int pipe, char** argv) {
  const rlimit most{limit, limit};
  ::setenv("ASHLAR_BENCH_PIPE", std::to_string(pipe).c_str(), 1);
  ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);  // peers that die print long messages
  if (::setrlimit(RLIMIT_AS, &most) == 0) ::execv("/proc/self/exe", argv);
  ::_exit(1);
}

// Returns: the result of a process started within an address space, and its exit status.
std::pair<outcome, int> outcome_within(std::size_t limit, char** argv) {
  int ends[2];
  if (::pipe(ends) != 0) fail(1, "no pipe");
  const pid_t child = ::fork();
  if (child == 0) start_limited(limit, ends[1], argv);
  ::close(ends[1]);
  outcome found;
  if (::read(ends[0], &found.live, sizeof found.live) == sizeof found.live)
    if (::read(ends[0], &found.again, sizeof found.again) != sizeof found.again) found.again = 0;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {found, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
}

cell_list all_cells() {
  cell_list cells;
  for (const std::string_view limit : limits)
    for (const std::string_view bytes : sizes)
      for (const row& r : rows) cells.add(limit, bytes, r.who, {limit, bytes, r.who.name});
  return cells;
}

std::string usage_text() { return "usage: heap_limits <MB> <bytes> <peer> | --cells\npeers:" + names_of(rows); }

void run(const command_line& line) {
  line.expect_words(3);
  const auto itself = [](std::string_view name) { return name; };
  const std::size_t limit = number_of(line.choice(0, limits, itself)) * megabyte;
  const std::size_t bytes = number_of(line.choice(1, sizes, itself));
  const row& r = line.row(2, rows);
  if (const char* const pipe = std::getenv("ASHLAR_BENCH_PIPE")) ::_exit(r.fill(bytes, std::atoi(pipe)));
  json_object answer = answer_of(r.who.name, line.argv());
  const auto [found, status] = outcome_within(limit, line.argv());
  std::puts(answer.count("limit_bytes", limit)
                .count("live_bytes", found.live)
                .count("again_bytes", found.again)
                .count("lost_bytes", limit - found.live)
                .count("exit_status", static_cast<std::uint64_t>(status))
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
