// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The resident bytes for each element of a given size, with a million live ones and with ten.
//
// density <million|ten> <bytes> <peer>     one cell of the table per process, one JSON line
// density --cells                          the list of cells

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ashlar/resource/block_pool.hpp>

#include "support/cells.hpp"
#include "support/command_line.hpp"
#include "support/json_object.hpp"
#include "support/keep.hpp"
#include "support/preload.hpp"
#include "support/program.hpp"
#include "support/usage.hpp"

#if ASHLAR_BENCH_HAS_BOOST
#include <boost/pool/pool.hpp>
#endif

namespace bench {
namespace {

class malloc_cells {
public:
  explicit malloc_cells(std::size_t bytes) : bytes_(bytes) {}
  void* allocate() noexcept { return std::malloc(bytes_); }

private:
  std::size_t bytes_;
};

class pmr_cells {
public:
  explicit pmr_cells(std::size_t bytes) : bytes_(bytes) {}
  void* allocate() { return resource_.allocate(bytes_, ashlar::natural_alignment(bytes_)); }

private:
  std::pmr::unsynchronized_pool_resource resource_;
  std::size_t bytes_;
};

#if ASHLAR_BENCH_HAS_BOOST
class boost_cells {
public:
  explicit boost_cells(std::size_t bytes) : pool_(bytes) {}
  void* allocate() { return pool_.malloc(); }

private:
  boost::pool<> pool_;
};
#endif

class ashlar_cells {
public:
  explicit ashlar_cells(std::size_t bytes) : pool_(ashlar::block_pool_options{.cell_bytes = bytes}) {}
  void* allocate() { return pool_.allocate(); }

private:
  ashlar::block_pool<> pool_;
};

// Every cell is written from end to end, as a user would; the pool and its cells stay alive.
template <class Cells>
std::uint64_t resident_after(std::size_t count, std::size_t bytes) {
  static std::optional<Cells> cells;
  anonymous_bytes();  // the first call makes a page of its own resident
  const std::uint64_t before = anonymous_bytes();
  cells.emplace(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    void* const fresh = cells->allocate();
    if (fresh == nullptr) fail(1, "out of memory");
    std::memset(fresh, 1, bytes);
    escape(fresh);
  }
  return anonymous_bytes() - before;
}

// The promise of the library: the element, one bit, and 2 %.
std::uint64_t promise(std::size_t count, std::size_t bytes) {
  return static_cast<std::uint64_t>(static_cast<double>(count) * (static_cast<double>(bytes) + 0.125) * 1.02);
}

struct row {
  contender who;
  std::uint64_t (*measure)(std::size_t count, std::size_t bytes);  // null: the 32-bit program measures it
};

template <class Cells>
constexpr row row_of(std::string_view name, std::string_view what) {
  return {{name, what, true}, resident_after<Cells>};
}

constexpr row rows[] = {
    {{"promise", "element, one bit, 2 % (the aim)", false}, promise},
    row_of<malloc_cells>("glibc", "malloc, glibc"),
    row_of<malloc_cells>("mimalloc", "malloc, mimalloc"),
    row_of<malloc_cells>("jemalloc", "malloc, jemalloc"),
    row_of<malloc_cells>("tcmalloc", "malloc, tcmalloc"),
    row_of<malloc_cells>("rpmalloc", "malloc, rpmalloc"),
    row_of<malloc_cells>("snmalloc", "malloc, snmalloc"),
#if ASHLAR_BENCH_HAS_BOOST
    row_of<boost_cells>("boost_pool", "boost::pool"),
#endif
    row_of<pmr_cells>("pmr_pool", "pmr unsynchronized pool"),
    row_of<ashlar_cells>("ashlar", "ashlar::block_pool"),
    {{"ashlar_m32", "ashlar::block_pool, 32-bit", true}, sizeof(void*) == 4 ? resident_after<ashlar_cells> : nullptr},
};

constexpr std::array<std::string_view, 10> sizes{"1", "2", "4", "8", "12", "16", "24", "40", "48", "100"};

struct population {
  std::string_view name;
  std::size_t count;
};
constexpr population populations[] = {{"million", 1'000'000}, {"ten", 10}};

cell_list all_cells() {
  cell_list cells;
  for (const population& p : populations)
    for (const std::string_view size : sizes)
      for (const row& r : rows)
        if (p.name != "ten" || r.who.name != "promise") cells.add(p.name, size, r.who, {p.name, size, r.who.name});
  return cells;
}

[[noreturn]] void run_32_bit(char** argv) {
  const std::string program = std::filesystem::canonical("/proc/self/exe").string() + "_m32";
  if (::access(program.c_str(), X_OK) != 0) fail(exit_skipped, "skipped: this compiler does not build for 32 bits");
  ::execv(program.c_str(), argv);
  std::perror("execv");
  std::exit(1);
}

std::string usage_text() { return "usage: density <million|ten> <bytes> <peer> | --cells\npeers:" + names_of(rows); }

void run(const command_line& line) {
  line.expect_words(3);
  const population& p = line.choice(0, populations, [](const population& each) { return each.name; });
  const std::string_view size = line.choice(1, sizes, [](std::string_view each) { return each; });
  const row& r = line.row(2, rows);
  if (r.measure == nullptr) run_32_bit(line.argv());
  json_object answer = answer_of(r.who.name, line.argv());
  const std::uint64_t resident = r.measure(p.count, std::stoul(std::string(size)));
  std::puts(answer.count("resident_bytes", resident)
                .number("bytes_per_element", static_cast<double>(resident) / static_cast<double>(p.count))
                .number("kib", static_cast<double>(resident) / 1024)
                .str()
                .c_str());
}

}  // namespace

const program this_program = {usage_text, all_cells, run};

}  // namespace bench
