// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A resource that lies in the memory it hands out: for processes that share it, and survive each other's deaths.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/tlsf/tlsf_rebuildable.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/process_lock.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

/// The blocks of a shared memory and their lock. The thread that gets the lock of a dead holder repairs the blocks
/// first.
template <class Lock, class Steps>
class rebuildable_state {
public:
  using space = tlsf_rebuildable<Steps>;
  using links = typename space::links;

  rebuildable_state(links all, std::uint32_t first, std::uint32_t end) noexcept : blocks(all, first, end) {}

  void lock() noexcept {
    if constexpr (std::same_as<decltype(lock_.lock()), bool>) {
      if (ASHLAR_UNLIKELY(lock_.lock())) repair();
    } else {
      lock_.lock();
    }
  }
  void unlock() noexcept { lock_.unlock(); }

  /// Returns: the view of the calling process.
  [[nodiscard]] links view() noexcept { return links(static_cast<std::byte*>(base())); }
  [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }
  [[nodiscard]] std::uint32_t repairs() const noexcept { return repairs_; }

  space blocks;

private:
  // The state is a member of the resource in the first page, which is where the memory begins.
  [[nodiscard]] void* base() noexcept { return align_down(static_cast<void*>(this), page); }

  ASHLAR_COLD void repair() noexcept {
    is_damaged_ = !blocks.rebuild(view());
    ++repairs_;
  }

  static constexpr std::size_t page = 4096;

  Lock lock_;
  std::uint32_t repairs_ = 0;
  bool is_damaged_ = false;
};

}  // namespace detail

namespace interprocess {

/// A resource at the start of the memory that it hands out, such as a mapping of `shm_open` or of a file. Each process
/// maps the memory at an address of its own and refers to the resource there:
///
///     | basic_shared_memory: lock, index | block | block | free          | block |
///     this                                                                       this + size()
///
/// If a process dies, even within a call, the others go on: the next call repairs the blocks. Blocks of the dead
/// process stay as they are, and `for_each_live` names them.
///
/// Blocks belong to the mapping which handed them out: another mapping has them at another address, so data inside
/// refers to data by `offset_ptr`. Alignments go up to 4096 bytes. A block takes 16 bytes beside its own, rounded up
/// to 16. The memory ends with its mappings; the resource is never destroyed. Complexity: O(1); after a death once
/// O(blocks). Thread safety: any thread of any process.
template <class Lock, class Steps>
class basic_shared_memory {
public:
  static constexpr bool is_thread_safe = !std::same_as<Lock, null_lock>;
  static constexpr std::size_t page_bytes = 4096;  ///< alignment of the memory, and of blocks at most

  /// The reasons for which there is no resource.
  enum class error : unsigned char {
    none,
    misaligned,    ///< the memory does not begin at a page
    too_small,     ///< there is no room for the resource
    not_created,   ///< no resource is there, or not yet
    other_layout,  ///< another version, word size, lock or C library made it
    truncated,     ///< fewer bytes than those it was created with
    damaged        ///< a program has overwritten the blocks
  };
  [[nodiscard]] friend constexpr std::string_view name_of(error why) noexcept {
    switch (why) {
      case error::none: return "none";
      case error::misaligned: return "misaligned";
      case error::too_small: return "too_small";
      case error::not_created: return "not_created";
      case error::other_layout: return "other_layout";
      case error::truncated: return "truncated";
      case error::damaged: return "damaged";
    }
    return "error";
  }

  /// A resource, or the reason for which there is none.
  struct result {
    basic_shared_memory* memory = nullptr;
    error why = error::none;

    [[nodiscard]] explicit operator bool() const noexcept { return memory != nullptr; }
    [[nodiscard]] basic_shared_memory& operator*() const noexcept { return *memory; }
    [[nodiscard]] basic_shared_memory* operator->() const noexcept { return memory; }
  };

  /// Effects: makes a resource of `bytes` bytes at `at`; what was there is gone. Of more than 32 GiB the rest is not
  /// used. Expects: the memory is writable; no other process uses it yet.
  [[nodiscard]] static result create(void* at, std::size_t bytes) noexcept {
    if (!is_aligned(at, page_bytes) || at == nullptr) return {nullptr, error::misaligned};
    if (bytes < page_bytes + least_bytes) return {nullptr, error::too_small};
    auto* const made = ::new (at) basic_shared_memory(bytes);
    made->magic_.store(magic);  // pairs with the load in open()
    return {made, error::none};
  }

  /// Returns: the resource at `at`, made by any process. Expects: `bytes` bytes are mapped there, readable and
  /// writable.
  [[nodiscard]] static result open(void* at, std::size_t bytes) noexcept {
    if (!is_aligned(at, page_bytes) || at == nullptr) return {nullptr, error::misaligned};
    if (bytes < page_bytes + least_bytes) return {nullptr, error::truncated};
    auto* const found = static_cast<basic_shared_memory*>(at);
    if (found->magic_.load() != magic) return {nullptr, error::not_created};
    if (found->layout_ != layout()) return {nullptr, error::other_layout};
    if (found->bytes_ > bytes) return {nullptr, error::truncated};
    if (found->is_damaged()) return {nullptr, error::damaged};
    return {found, error::none};
  }

  basic_shared_memory(const basic_shared_memory&) = delete;
  basic_shared_memory& operator=(const basic_shared_memory&) = delete;

  /// Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }

  /// Returns: a block, or null. Expects: `alignment` is a power of two.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (bytes > bytes_ || alignment > page_bytes) return nullptr;
    const scope held(state_);
    const auto step = static_cast<link>((alignment < unit ? unit : alignment) / unit);
    const link block = state_.blocks.allocate(links(base()), units_of(bytes), step, process_number());
    return block != space::none ? space::payload(base(), block) : nullptr;
  }

  /// Expects: `p` was allocated in this mapping with the same `bytes` and `alignment`, by any process.
  void deallocate(void* p, std::size_t bytes, [[maybe_unused]] std::size_t alignment) noexcept {
    const scope held(state_);
    check(p, &bytes);
    free_block(p);
  }

  /// Effects: as above; none if `p` is null.
  void deallocate(void* p) noexcept {
    if (p == nullptr) return;
    const scope held(state_);
    check(p);
    free_block(p);
  }

  /// Effects: grows a block into free memory after it, or shrinks it. Returns: whether it has `new_bytes` bytes now.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes,
                                [[maybe_unused]] std::size_t alignment) noexcept {
    const scope held(state_);
    check(p, &bytes);
    return new_bytes <= bytes_ && !state_.is_damaged() &&
           state_.blocks.try_expand(links(base()), link_of(p), units_of(new_bytes));
  }

  /// Returns: whether `p` points into the memory behind the resource.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    const std::size_t distance = address_of(p) - address_of(this);
    return distance >= (state_.blocks.first() + std::size_t{1}) * unit && distance < state_.blocks.end() * unit;
  }

  /// @{ The object by which processes find all others, such as a struct of containers: null until it is set. What was
  /// written before `set_root` is seen after `root` without a lock. Expects: `p` is null or in the memory.
  void set_root(const void* p) noexcept {
    ASHLAR_REQUIRE(p == nullptr || owns(p), "the root of shared memory is not in it");
    const std::uint64_t distance = p != nullptr ? address_of(p) - address_of(this) : 0;
    root_.store(distance);  // pairs with the load in root()
  }
  [[nodiscard]] void* root() noexcept {
    const std::uint64_t distance = root_.load();
    return distance != 0 ? base() + static_cast<std::size_t>(distance) : nullptr;
  }
  /// @}

  /// Returns: the number of the calling process in `for_each_live`: its PID, if it runs in the PID namespace of the
  /// process that created the memory; otherwise, as in another container, a random number above 2^31, which changes in
  /// the child of a fork. 0 if the lock does not know the process.
  [[nodiscard]] std::uint32_t process_number() const noexcept {
    if constexpr (requires { Lock::process_id_seen_from(space_); }) return Lock::process_id_seen_from(space_);
    else if constexpr (requires { Lock::process_id(); }) return Lock::process_id();
    else return 0;
  }

  /// Effects: calls `f(p, bytes, process)` for each live block, with the usable size and the `process_number` of the
  /// process that allocated it. Expects: `f` does not use the resource. Complexity: O(blocks), under the lock.
  template <class F>
  void for_each_live(F f) {
    const scope held(state_);
    const links blocks(base());
    state_.blocks.for_each_block(blocks, [&](link block) {
      if (!blocks.is_free(block))
        f(static_cast<void*>(space::payload(base(), block)), (blocks.size(block) - std::size_t{1}) * unit,
          blocks.at(block).next_or_owner);
      return true;
    });
  }

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(bytes_); }  ///< bytes, from `this`
  /// Returns: the bytes for blocks, with what each takes beside its own.
  [[nodiscard]] std::size_t capacity() const noexcept { return (state_.blocks.end() - state_.blocks.first()) * unit; }
  /// Returns: the bytes of live blocks, with what each takes beside its own.
  [[nodiscard]] std::size_t used() noexcept {
    const scope held(state_);
    return state_.blocks.used() * unit;
  }
  /// Returns: how often a call repaired the blocks after the death of a process.
  [[nodiscard]] std::uint32_t repairs() noexcept {
    const scope held(state_);
    return state_.repairs();
  }
  /// Returns: whether the sizes of blocks are overwritten; then requests are refused, and frees have no effect.
  [[nodiscard]] bool is_damaged() noexcept {
    const scope held(state_);
    return state_.is_damaged();
  }
  /// Complexity: O(blocks), under the lock.
  [[nodiscard]] bool invariant() noexcept {
    const scope held(state_);
    return !state_.is_damaged() && state_.blocks.invariant(links(base()));
  }

  [[nodiscard]] friend bool operator==(const basic_shared_memory& a, const basic_shared_memory& b) noexcept {
    return &a == &b;
  }

private:
  using state = detail::rebuildable_state<Lock, Steps>;
  using space = typename state::space;
  using links = typename state::links;
  using link = typename space::link;
  using scope = check_scope<state>;
  static constexpr std::size_t unit = space::unit;
  static constexpr std::size_t least_bytes = 4 * unit;
  static constexpr std::uint64_t magic = 0x6d68'7372'616c'6873;  // "shlarshm" in the order of little-endian bytes
  static constexpr std::uint64_t version = 2;

  // All that two programs must agree on. Two C libraries with one size of a mutex need not agree on its contents.
  [[nodiscard]] static constexpr std::uint64_t layout() noexcept {
    std::uint64_t c_library = 0;
    if constexpr (requires { Lock::c_library; }) c_library = Lock::c_library;
    return c_library << 56 | version << 48 | std::uint64_t{sizeof(Lock)} << 32 | std::uint64_t{sizeof(state)} << 8 |
           sizeof(void*);
  }

  explicit basic_shared_memory(std::size_t bytes) noexcept
      : bytes_(bytes), state_(links(base()), static_cast<link>(page_bytes / unit), used_units(bytes / unit)) {
    static_assert(sizeof(basic_shared_memory) <= page_bytes, "the first page has room for the resource");
  }

  [[nodiscard]] std::byte* base() noexcept { return reinterpret_cast<std::byte*>(this); }

  [[nodiscard]] static std::uint64_t space_of_process() noexcept {
    if constexpr (requires { Lock::process_space(); }) return Lock::process_space();
    else return 0;
  }

  [[nodiscard]] static link used_units(std::size_t units) noexcept {
    return static_cast<link>(units < space::most_units ? units : std::size_t{space::most_units});
  }
  // Units of a block with its header. Expects: `bytes` is at most the size of the memory.
  [[nodiscard]] static link units_of(std::size_t bytes) noexcept {
    return used_units(bytes / unit + (bytes % unit != 0 || bytes == 0) + 1);
  }
  [[nodiscard]] link link_of(const void* p) noexcept {
    return static_cast<link>((address_of(p) - address_of(this)) / unit - 1);
  }

  void free_block(void* p) noexcept {
    if (ASHLAR_LIKELY(!state_.is_damaged())) state_.blocks.deallocate(links(base()), link_of(p));
  }

  void check([[maybe_unused]] const void* p, [[maybe_unused]] const std::size_t* bytes = nullptr) noexcept {
    if constexpr (checking_level >= checking::checked) {
      if (state_.is_damaged()) return;
      if (!owns(p)) report(fault::invalid_free, "freed a pointer that is not of this shared memory", p, this);
      if (!is_aligned(p, unit) || !state_.blocks.is_live(links(base()), link_of(p))) report_no_block(p);
      if (!state_.blocks.is_followed(links(base()), link_of(p)))
        report(fault::overflow, "the header after a block of shared memory was overwritten", p, this);
      if (bytes != nullptr && (*bytes > bytes_ || links(base()).size(link_of(p)) != units_of(*bytes)))
        report({.kind = fault::size_mismatch,
                .what = "freed a block of shared memory with another size than it was allocated with",
                .pointer = p,
                .resource = this,
                .got = *bytes,
                .block_bytes = (links(base()).size(link_of(p)) - std::size_t{1}) * unit});
    }
  }

  // The blocks in order show where the pointer leads to.
  [[noreturn]] ASHLAR_COLD void report_no_block(const void* p) noexcept {
    const links blocks(base());
    link around = space::none;
    state_.blocks.for_each_block(blocks, [&](link block) {
      if (block > link_of(p)) return false;
      around = block;
      return true;
    });
    if (around != space::none && blocks.is_free(around))
      report(fault::double_free, "freed a block of shared memory that is free", p, this);
    if (space::payload(base(), around) != p)
      report(fault::misaligned_free, "freed a pointer into a block of shared memory", p, this);
    report(fault::overflow, "the header of a block of shared memory was overwritten", p, this);
  }

  detail::publishing_atomic<std::uint64_t> magic_ = 0;
  std::uint64_t layout_ = layout();
  std::uint64_t bytes_;
  detail::publishing_atomic<std::uint64_t> root_ = 0;
  std::uint64_t space_ = space_of_process();  // of the process that created it
  state state_;
};

}  // namespace interprocess

static_assert(try_resource<interprocess::basic_shared_memory<null_lock>>);
static_assert(owning_resource<interprocess::basic_shared_memory<null_lock>>);
static_assert(self_describing_resource<interprocess::basic_shared_memory<null_lock>>);
static_assert(expanding_resource<interprocess::basic_shared_memory<null_lock>>);

}  // namespace ashlar::ASHLAR_ABI
