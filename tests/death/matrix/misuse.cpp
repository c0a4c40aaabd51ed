// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Commits one misuse of one interface, and then uses, trims and ends it as a correct program does.
#include "tests/death/matrix/misuse.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <ashlar/base/config.hpp>

namespace fault_matrix {
namespace {

constexpr std::size_t most_blocks = 256;  // taken at once by a scene
constexpr std::size_t front = 512;        // readable bytes before a pointer that no resource has provided

// The number of blocks of a size that are taken at once, at most.
[[nodiscard]] constexpr std::size_t blocks_of(std::size_t bytes) { return bytes > 4096 ? 8 : most_blocks; }

// Offsets into a block of these bytes.
[[nodiscard]] std::vector<std::size_t> interior_offsets(std::size_t bytes) {
  std::vector<std::size_t> offsets = {8, 16, 1, bytes / 2, bytes - 1};
  std::erase_if(offsets, [bytes](std::size_t offset) { return offset == 0 || offset >= bytes; });
  return offsets;
}

void say(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) std::abort();
}

// Writes that the compiler can neither remove nor diagnose.
void flip(std::byte* at, std::size_t count) {
  say(before_write);
  auto* bytes = reinterpret_cast<volatile unsigned char*>(at);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(bytes[i] ^ 0xFF);
  say(after_write);
}

struct owned_block {
  std::byte* data;
  std::size_t bytes;
};

// An interface with a misused block between two neighbours.
class scene {
public:
  scene(const interface& of, std::size_t bytes) : of_(of), subject_(of.make()), bytes_(bytes) {
    before_ = take();
    victim_ = take();
    if (!of.is_stack) neighbours_.push_back(take());
    tell(victim_.data);
  }

  [[nodiscard]] std::byte* victim() const { return victim_.data; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  void free(void* p, std::size_t bytes) { subject_->give(p, bytes, block_alignment); }
  void free_victim() { free_victim(bytes_, block_alignment); }
  void free_victim(std::size_t bytes, std::size_t alignment) {
    subject_->give(std::exchange(victim_.data, nullptr), bytes, alignment);
  }

  // Takes others as long as the block has this alignment.
  void pick_victim_not_at(std::size_t alignment) {
    for (int left = 16; left != 0 && reinterpret_cast<std::uintptr_t>(victim()) % alignment == 0; --left)
      neighbours_.push_back(std::exchange(victim_, take()));
    tell(victim_.data);
  }

  void use(int operations) {
    for (int i = 0; i < operations / 2; ++i) give(take());
  }

  // Takes blocks until the one at `p` comes again; it is freed by its former owner then, which looks right.
  void use_until_again(const void* p) {
    std::vector<owned_block> taken;
    for (std::size_t left = blocks_of(bytes_); left != 0 && (taken.empty() || taken.back().data != p); --left)
      taken.push_back(take());
    for (; !taken.empty(); taken.pop_back()) give(taken.back());
  }

  // The next steps of a correct program: the block may be used again, all blocks are freed, the resource ends.
  void sweep() {
    say(after_call);
    if (of_.is_stack && victim_.data != nullptr) give(std::exchange(victim_, {}));
    std::vector<owned_block> taken;
    for (std::size_t left = blocks_of(bytes_); left != 0; --left) taken.push_back(take());
    while (!taken.empty()) {
      give(taken.back());
      taken.pop_back();
    }
    if (victim_.data != nullptr) give(victim_);
    end();
  }

  // The end of a program that forgets the victim.
  void end(bool trimmed = true) {
    for (auto each = neighbours_.rbegin(); each != neighbours_.rend(); ++each) give(*each);
    give(before_);
    if (trimmed) subject_->trim();
    subject_.reset();
  }

private:
  [[nodiscard]] owned_block take() { return {static_cast<std::byte*>(subject_->take(bytes_)), bytes_}; }
  static void tell(const void* victim) {
    std::array<char, 64> line;
    std::snprintf(line.data(), line.size(), "%s%p\n", block_is, victim);
    say(line.data());
  }
  void give(const owned_block& block) { subject_->give(block.data, block.bytes, block_alignment); }

  const interface& of_;
  std::unique_ptr<subject> subject_;
  std::size_t bytes_;
  owned_block before_{};
  owned_block victim_{};
  std::vector<owned_block> neighbours_;
};

void free_twice(const interface& of, int operations_between) {
  scene in(of, of.exact);
  void* const p = in.victim();
  in.free_victim();
  in.use(operations_between);
  in.free(p, in.bytes());
  in.sweep();
}

void free_after_reuse(const interface& of) {
  scene in(of, of.exact);
  void* const p = in.victim();
  in.free_victim();
  in.use_until_again(p);
  in.free(p, in.bytes());
  in.sweep();
}

void free_wrong_pointer(const interface& of, void* wrong) {
  scene in(of, of.exact);
  in.free(wrong, in.bytes());
  in.sweep();
}

// Memory that no resource has provided; a page of it is not even readable, and addresses are of no memory at all.
constexpr int readable_kinds = 2, foreign_kinds = 5;
[[nodiscard]] void* foreign_memory(std::size_t bytes, int kind) {
  alignas(64) static std::array<std::byte, 2 * front> in_static_memory;
  switch (kind) {
    case 0: return static_cast<std::byte*>(std::calloc(1, front + 2 * bytes + front)) + front;
    case 1: return in_static_memory.data() + front;
    case 2: return ::mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    case 3: return reinterpret_cast<void*>(std::uintptr_t{64});
    default: return reinterpret_cast<void*>(~std::uintptr_t{63});
  }
}

void free_stack_address(const interface& of) {
  alignas(64) std::byte memory[front + 4096] = {};
  free_wrong_pointer(of, memory + front);
}

void free_interior(const interface& of, std::size_t offset) {
  scene in(of, of.exact);
  in.free(in.victim() + offset, in.bytes());
  in.sweep();
}

void free_of_other_instance(const interface& of) {
  scene other(of, of.exact);
  free_wrong_pointer(of, other.victim());
  other.sweep();
}

void free_of_ended_instance(const interface& of) {
  scene in(of, of.exact);
  scene other(of, of.exact);
  void* const p = other.victim();
  other.free_victim();
  other.end();
  in.free(p, in.bytes());
  in.sweep();
}

void free_by_size(const interface& of, std::size_t bytes) {
  scene in(of, of.exact);
  in.free_victim(bytes, block_alignment);
  in.sweep();
}

// By an alignment that the address does not have even by chance: 512 where a block has less.
void free_by_alignment(const interface& of) {
  scene in(of, of.exact);
  in.pick_victim_not_at(512);
  const auto address = reinterpret_cast<std::uintptr_t>(in.victim());
  const std::uintptr_t own = address & (0 - address);
  in.free_victim(in.bytes(), std::max<std::size_t>(512, 2 * own));
  in.sweep();
}

// The block is used again, or its resource is trimmed and ends, or ends as it is.
void write_dead(const interface& of, std::size_t offset, std::size_t count, int variant) {
  scene in(of, of.exact);
  std::byte* const p = in.victim();
  in.free_victim();
  flip(p + offset, count);
  if (variant == 0) return in.sweep();
  say(after_call);
  in.end(variant == 1);
}

void write_beside(const interface& of, std::size_t bytes, std::ptrdiff_t offset, std::size_t count) {
  scene in(of, bytes);
  flip(in.victim() + offset, count);
  in.free_victim();
  in.sweep();
}

void write_behind(const interface& of, std::size_t bytes, std::size_t count) {
  write_beside(of, bytes, static_cast<std::ptrdiff_t>(bytes), count);
}

void leak_a_block(const interface& of) {
  scene in(of, of.exact);
  in.end();
}

[[nodiscard]] int interiors_of(const interface& of) { return static_cast<int>(interior_offsets(of.exact).size()); }
[[nodiscard]] int foreign_of(const interface& of) { return of.reads_in_front ? readable_kinds : foreign_kinds; }
[[nodiscard]] int instances_of(const interface& of) { return of.reads_in_front ? 1 : 2; }
// A pool of the process has no end, and below hardened the end of some resources looks at no dead block.
[[nodiscard]] int dead_of(const interface& of) {
  return ashlar::checking_level == ashlar::checking::hardened && !of.cannot_express.has(misuse::leak) ? 3 : 2;
}
template <int Count>
[[nodiscard]] int forms(const interface&) {
  return Count;
}

// A column of the matrix.
struct column {
  const char* name;
  int (*variants)(const interface& of);
  void (*commit)(const interface& of, int variant);
};

// In the order of the enumerators.
constexpr column columns[] = {
    {"twice at once", forms<1>, [](const interface& of, int) { free_twice(of, 0); }},
    {"twice later", forms<2>, [](const interface& of, int v) { v == 0 ? free_twice(of, 1024) : free_after_reuse(of); }},
    {"interior", interiors_of,
     [](const interface& of, int v) { free_interior(of, interior_offsets(of.exact)[static_cast<std::size_t>(v)]); }},
    {"foreign", foreign_of, [](const interface& of, int v) { free_wrong_pointer(of, foreign_memory(of.exact, v)); }},
    {"stack", forms<1>, [](const interface& of, int) { free_stack_address(of); }},
    {"other instance", instances_of,
     [](const interface& of, int v) { v == 0 ? free_of_other_instance(of) : free_of_ended_instance(of); }},
    {"null", forms<1>, [](const interface& of, int) { free_wrong_pointer(of, nullptr); }},
    {"half the size", forms<1>, [](const interface& of, int) { free_by_size(of, of.exact / 2); }},
    {"twice the size", forms<1>, [](const interface& of, int) { free_by_size(of, of.exact * 2); }},
    {"one byte less", forms<1>, [](const interface& of, int) { free_by_size(of, of.exact - 1); }},
    {"one byte more", forms<1>, [](const interface& of, int) { free_by_size(of, of.exact + 1); }},
    {"alignment", forms<1>, [](const interface& of, int) { free_by_alignment(of); }},
    {"leak", forms<1>, [](const interface& of, int) { leak_a_block(of); }},
    {"first word", dead_of,
     [](const interface& of, int v) { write_dead(of, 0, std::min<std::size_t>(8, of.exact), v); }},
    {"middle", dead_of, [](const interface& of, int v) { write_dead(of, of.exact / 2, 1, v); }},
    {"last byte", dead_of, [](const interface& of, int v) { write_dead(of, of.exact - 1, 1, v); }},
    {"+1 exact", forms<1>, [](const interface& of, int) { write_behind(of, of.exact, 1); }},
    {"+8 exact", forms<1>, [](const interface& of, int) { write_behind(of, of.exact, 8); }},
    {"+1 loose", forms<1>, [](const interface& of, int) { write_behind(of, of.loose, 1); }},
    {"+8 loose", forms<1>, [](const interface& of, int) { write_behind(of, of.loose, 8); }},
    {"-1", forms<1>, [](const interface& of, int) { write_beside(of, of.exact, -1, 1); }},
    {"-8", forms<1>, [](const interface& of, int) { write_beside(of, of.exact, -8, 8); }},
};
static_assert(std::size(columns) == misuse_count);

[[nodiscard]] const column& column_of(misuse kind) { return columns[static_cast<std::size_t>(kind)]; }

}  // namespace

const char* name_of(misuse kind) { return column_of(kind).name; }
int variants_of(const interface& of, misuse kind) { return column_of(kind).variants(of); }
void commit(const interface& of, misuse kind, int variant) { column_of(kind).commit(of, variant); }

}  // namespace fault_matrix
