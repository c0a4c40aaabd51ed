// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Commits one misuse of one interface, and then uses, trims and ends it as a correct program does.
#include "tests/death/matrix/misuse.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace fault_matrix {
namespace {

constexpr std::array<const char*, misuse_count> names = {"twice at once",
                                                         "twice later",
                                                         "interior",
                                                         "foreign",
                                                         "stack",
                                                         "other instance",
                                                         "null",
                                                         "half the size",
                                                         "twice the size",
                                                         "one byte less",
                                                         "one byte more",
                                                         "alignment",
                                                         "leak",
                                                         "first word",
                                                         "middle",
                                                         "last byte",
                                                         "+1 exact",
                                                         "+8 exact",
                                                         "+1 loose",
                                                         "+8 loose",
                                                         "-1",
                                                         "-8"};

constexpr std::array<std::size_t, 3> interior_offsets = {8, 16, 1};
constexpr std::size_t front = 512;  // readable bytes before a pointer that no resource has provided

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
  }

  [[nodiscard]] std::byte* victim() const { return victim_.data; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  void free(void* p, std::size_t bytes) { subject_->give(p, bytes, block_alignment); }
  void free_victim() { free_victim(bytes_, block_alignment); }
  void free_victim(std::size_t bytes, std::size_t alignment) {
    subject_->give(std::exchange(victim_.data, nullptr), bytes, alignment);
  }

  void use(int operations) {
    for (int i = 0; i < operations / 2; ++i) give(take());
  }

  // The next steps of a correct program: the block may be used again, all blocks are freed, the resource ends.
  void sweep() {
    say(after_call);
    if (of_.is_stack && victim_.data != nullptr) give(std::exchange(victim_, {}));
    const int count = bytes_ > 4096 ? 8 : 256;
    std::vector<owned_block> taken;
    for (int i = 0; i < count; ++i) taken.push_back(take());
    while (!taken.empty()) {
      give(taken.back());
      taken.pop_back();
    }
    if (victim_.data != nullptr) give(victim_);
    end();
  }

  // The end of a program that forgets the victim.
  void end() {
    for (auto each = neighbours_.rbegin(); each != neighbours_.rend(); ++each) give(*each);
    give(before_);
    subject_->trim();
    subject_.reset();
  }

private:
  [[nodiscard]] owned_block take() { return {static_cast<std::byte*>(subject_->take(bytes_)), bytes_}; }
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

void free_wrong_pointer(const interface& of, void* wrong) {
  scene in(of, of.exact);
  in.free(wrong, in.bytes());
  in.sweep();
}

void free_foreign(const interface& of) {
  auto* const memory = static_cast<std::byte*>(std::calloc(1, front + 2 * of.exact + front));
  free_wrong_pointer(of, memory + front);
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

void free_by_size(const interface& of, std::size_t bytes) {
  scene in(of, of.exact);
  in.free_victim(bytes, block_alignment);
  in.sweep();
}

// By an alignment that the address does not have even by chance.
void free_by_alignment(const interface& of) {
  scene in(of, of.exact);
  const auto address = reinterpret_cast<std::uintptr_t>(in.victim());
  const std::uintptr_t own = address & (0 - address);
  in.free_victim(in.bytes(), std::max<std::size_t>(256, 2 * own));
  in.sweep();
}

void write_dead(const interface& of, std::size_t offset, std::size_t count) {
  scene in(of, of.exact);
  std::byte* const p = in.victim();
  in.free_victim();
  flip(p + offset, count);
  in.sweep();
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

}  // namespace

const char* name_of(misuse kind) { return names[static_cast<std::size_t>(kind)]; }

int variants_of(misuse kind) { return kind == misuse::interior ? static_cast<int>(std::size(interior_offsets)) : 1; }

void commit(const interface& of, misuse kind, int variant) {
  switch (kind) {
    case misuse::double_free: return free_twice(of, 0);
    case misuse::double_free_later: return free_twice(of, 1024);
    case misuse::interior: return free_interior(of, interior_offsets[static_cast<std::size_t>(variant)]);
    case misuse::foreign: return free_foreign(of);
    case misuse::stack_address: return free_stack_address(of);
    case misuse::other_instance: return free_of_other_instance(of);
    case misuse::null_pointer: return free_wrong_pointer(of, nullptr);
    case misuse::half_size: return free_by_size(of, of.exact / 2);
    case misuse::double_size: return free_by_size(of, of.exact * 2);
    case misuse::one_byte_less: return free_by_size(of, of.exact - 1);
    case misuse::one_byte_more: return free_by_size(of, of.exact + 1);
    case misuse::wrong_alignment: return free_by_alignment(of);
    case misuse::leak: return leak_a_block(of);
    case misuse::dead_first_word: return write_dead(of, 0, 8);
    case misuse::dead_middle: return write_dead(of, of.exact / 2, 1);
    case misuse::dead_last_byte: return write_dead(of, of.exact - 1, 1);
    case misuse::exact_over_1: return write_behind(of, of.exact, 1);
    case misuse::exact_over_8: return write_behind(of, of.exact, 8);
    case misuse::loose_over_1: return write_behind(of, of.loose, 1);
    case misuse::loose_over_8: return write_behind(of, of.loose, 8);
    case misuse::under_1: return write_beside(of, of.exact, -1, 1);
    case misuse::under_8: return write_beside(of, of.exact, -8, 8);
  }
}

}  // namespace fault_matrix
