// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inspects a heap that has been used for a while: its figures as JSON, and a map of it as a page.
//
//     example_heap_map [heap.html [heap.svg]]     prints the figures; writes the page and the map to the given files
#include <cstddef>
#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

#include <ashlar/heap/heap_json.hpp>
#include <ashlar/heap/heap_map.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/local_heap.hpp>

namespace {

// The receiver of the text may not use the inspected heap: this one uses the program's.
class file {
public:
  explicit file(std::FILE* to) : to_(to) {}
  void operator()(std::string_view text) { is_whole_ &= std::fwrite(text.data(), 1, text.size(), to_) == text.size(); }
  [[nodiscard]] bool is_whole() const { return is_whole_; }

private:
  std::FILE* to_;
  bool is_whole_ = true;
};

// A game in its second level: entities and strings come and go, textures and sounds stay, one level's data is freed.
class game {
public:
  void load(std::size_t count, std::vector<void*>& into) {
    for (std::size_t i = 0; i < count; ++i) into.push_back(heap_.allocate(any_size()));
  }

  void play() {
    std::vector<void*> first, second;
    load(30'000, first);
    for (int i = 0; i < 60; ++i) first.push_back(heap_.allocate(70'000 + random_() % 400'000));
    for (void* const each : first)
      if (random_() % 5 != 0) heap_.deallocate(each);  // the rest is shared with the next level
    load(12'000, second);
    for (int i = 0; i < 12; ++i) second.push_back(heap_.allocate(70'000 + random_() % 900'000));
    second.push_back(heap_.allocate(5'000'000));
    second.push_back(heap_.allocate(18'000'000));
  }

  [[nodiscard]] const ashlar::local_heap<>& heap() const { return heap_; }

private:
  // Most blocks are small: half of them up to 64 bytes, one in a hundred some thousands.
  [[nodiscard]] std::size_t any_size() {
    const std::size_t kind = random_() % 100;
    if (kind < 50) return 8 + random_() % 57;
    if (kind < 85) return 64 + random_() % 200;
    if (kind < 99) return 256 + random_() % 1800;
    return 2048 + random_() % 30'000;
  }

  ashlar::local_heap<> heap_;
  std::mt19937 random_;
};

// Returns: whether `write(out)` could write a whole file.
template <class F>
bool write_file(const char* path, F write) {
  std::FILE* const to = std::fopen(path, "w");
  if (to == nullptr) return false;
  file out(to);
  write(out);
  return (std::fclose(to) == 0) && out.is_whole();
}

}  // namespace

int main(int count, char** arguments) {
  game level;
  level.play();
  const ashlar::heap_statistics sums = ashlar::statistics_of(level.heap());
  file out(stdout);
  ashlar::write_json(sums, out);
  std::puts("");
  bool is_right = out.is_whole() && sums.invariant();
  if (count > 1) is_right &= write_file(arguments[1], [&](file& page) { ashlar::write_heap_html(level.heap(), page); });
  if (count > 2)
    is_right &= write_file(arguments[2], [&](file& picture) { ashlar::write_heap_svg(level.heap(), picture); });
  return is_right ? 0 : 1;
}
