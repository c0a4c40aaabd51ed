// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two-level segregated fit over offsets: divides memory that it never touches, such as the memory of a GPU or a file.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/tlsf_scale.hpp>
#include <ashlar/detail/tlsf/tlsf_index.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Numbered records. Chunks double: 64, 128, 256 … records; adding a chunk moves no record.
///
///       chunks_[0] -> | 0 .. 63 |    chunks_[1] -> | 64 .. 191 |    chunks_[2] -> | 192 .. 447 |
///
/// Complexity: all O(1), and one upstream call for each chunk added. Thread safety: none.
template <std::unsigned_integral Offset, resource Upstream>
class tlsf_nodes_in_chunks {
public:
  using link = std::uint32_t;
  static constexpr link none = ~link{0};

  enum class state : std::uint32_t { spare, free, live };

  /// One block of a range: 28 bytes for 32-bit offsets, 40 for 64-bit ones.
  struct node {
    Offset offset;
    Offset size;
    link next;      ///< of the bin's free list, or of the spare records
    link previous;  ///< of the bin's free list
    link front;     ///< the neighbour in front in the range
    link behind;    ///< the neighbour after
    tlsf_nodes_in_chunks::state state;
  };

  tlsf_nodes_in_chunks(std::size_t most, Upstream upstream)
      : upstream_(std::move(upstream)), most_(std::min(most, capacity_of(chunk_count))) {}
  tlsf_nodes_in_chunks(const tlsf_nodes_in_chunks&) = delete;
  tlsf_nodes_in_chunks& operator=(const tlsf_nodes_in_chunks&) = delete;
  ~tlsf_nodes_in_chunks() { release(); }

  [[nodiscard]] ASHLAR_INLINE node& at(link i) noexcept { return *place_of(i); }
  [[nodiscard]] ASHLAR_INLINE const node& at(link i) const noexcept { return *place_of(i); }
  /// Returns: whether record `i` exists, in use or spare.
  [[nodiscard]] bool has(link i) const noexcept { return i < made_; }

  /// Returns: whether `count` records can be made without the upstream.
  [[nodiscard]] bool try_ensure(std::size_t count) noexcept {
    while (ready() < count)
      if (capacity_ == most_ || !add(try_allocate_from(upstream_, bytes_of_next(), alignof(node)))) return false;
    return true;
  }

  /// As `try_ensure`; once `most` is reached there are fewer. Throws: the exceptions of the upstream.
  void ensure(std::size_t count) {
    while (ready() < count && capacity_ != most_)
      static_cast<void>(add(upstream_.allocate(bytes_of_next(), alignof(node))));
  }

  /// Returns: a record. Expects: `ready() != 0`.
  [[nodiscard]] link make(const node& as) noexcept {
    link i = spare_;
    if (i != none) {
      spare_ = at(i).next;
      --spares_;
      at(i) = as;
    } else {
      i = made_++;
      ::new (static_cast<void*>(place_of(i))) node(as);
    }
    return i;
  }

  void drop(link i) noexcept {
    at(i).state = state::spare;
    at(i).next = std::exchange(spare_, i);
    ++spares_;
  }

  /// Effects: removes all records and frees the chunks.
  void release() noexcept {
    while (chunks_made_ != 0) {
      --chunks_made_;
      capacity_ = capacity_of(chunks_made_);
      upstream_.deallocate(chunks_[chunks_made_], bytes_of_next(), alignof(node));
    }
    made_ = 0, spare_ = none, spares_ = 0;
  }

  [[nodiscard]] std::size_t ready() const noexcept {
    return spares_ + (capacity_ - made_);
  }  ///< records that can be made
  [[nodiscard]] std::size_t in_use() const noexcept { return made_ - spares_; }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return capacity_ * sizeof(node); }  ///< of all chunks
  [[nodiscard]] Upstream& upstream_resource() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  // As members of a tlsf_index.
  [[nodiscard]] link next(link i) const noexcept { return at(i).next; }
  [[nodiscard]] link previous(link i) const noexcept { return at(i).previous; }
  [[nodiscard]] std::uint64_t size(link i) const noexcept { return at(i).size; }
  void set_next(link i, link to) noexcept { at(i).next = to; }
  void set_previous(link i, link to) noexcept { at(i).previous = to; }

private:
  static constexpr unsigned first_bits = 6;
  static constexpr unsigned chunk_count = sizeof(std::size_t) == 8 ? 26 : 20;  // fewer than 2^32 records, or bytes

  [[nodiscard]] static constexpr std::size_t capacity_of(unsigned chunks) noexcept {
    return ((std::size_t{1} << chunks) - 1) << first_bits;
  }

  [[nodiscard]] ASHLAR_INLINE node* place_of(link i) const noexcept {
    const auto chunk = static_cast<unsigned>(std::bit_width((i >> first_bits) + 1)) - 1;
    return chunks_[chunk] + (i - capacity_of(chunk));
  }

  // The last chunk is cut at the limit of records.
  [[nodiscard]] std::size_t bytes_of_next() const noexcept {
    return (std::min(capacity_of(chunks_made_ + 1), most_) - capacity_) * sizeof(node);
  }

  [[nodiscard]] bool add(void* memory) noexcept {
    if (memory == nullptr) return false;
    chunks_[chunks_made_++] = static_cast<node*>(memory);
    capacity_ = std::min(capacity_of(chunks_made_), most_);
    return true;
  }

  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
  std::size_t most_;
  std::size_t capacity_ = 0;
  std::size_t spares_ = 0;
  unsigned chunks_made_ = 0;
  link made_ = 0;
  link spare_ = none;
  std::array<node*, chunk_count> chunks_{};
};

/// The records of the blocks of a range, and the index of the free ones.
template <std::unsigned_integral Offset, resource Upstream>
struct tlsf_records {
  using nodes = tlsf_nodes_in_chunks<Offset, Upstream>;
  using index = tlsf_index<tlsf_scale<0, sizeof(Offset) == 8 ? 63 : 8 * sizeof(Offset), 5>, nodes>;
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// Names a live block of a `tlsf_offsets`: 32 bits to store beside the offset.
enum class tlsf_handle : std::uint32_t { none = ~std::uint32_t{0} };

struct tlsf_offsets_options {
  /// A power of two; sizes are rounded up to its multiples, and offsets are its multiples. A coarse granule makes
  /// fewer, larger holes: 256 suits buffers of a GPU, 4096 pages of a file.
  std::size_t granule = 1;
  /// Limit of the number of blocks, free ones included.
  std::size_t max_count = max_size;
};

/// Hands out parts of `[0, size)`. Its metadata is in records from `Upstream`. The range is never read
/// or written, and need not be memory.
///
///     ashlar::tlsf_offsets<> heap(256u << 20);               // 256 MiB of a GPU
///     const auto vertices = heap.allocate(65536, 256);       // {offset, handle}
///     heap.deallocate(vertices.handle);
///
/// The caller chooses the unit: bytes, pages, texels. Sizes are below 2^32, or 2^63 for 64-bit offsets. Rules for
/// kinds of resources that share a page (Vulkan's bufferImageGranularity) are not checked: use one range per kind.
///
/// Complexity: O(1), independent of the number of blocks. Records come from the upstream 64, 128, 256 … at a time and
/// never move; `reserve` fetches them in advance. Thread safety: none.
template <std::unsigned_integral Offset, resource Upstream>
class tlsf_offsets {
public:
  using offset_type = Offset;

  /// A block that was handed out, or none.
  struct range {
    Offset offset = 0;
    tlsf_handle handle = tlsf_handle::none;

    [[nodiscard]] explicit operator bool() const noexcept { return handle != tlsf_handle::none; }
    [[nodiscard]] friend bool operator==(const range&, const range&) noexcept = default;
  };

  /// Statistics of the whole range.
  struct statistics {
    Offset used = 0;          ///< in live blocks
    Offset free = 0;          ///< in free ones
    Offset largest_free = 0;  ///< the largest request that is sure to succeed at an alignment of the granule
    std::size_t live_blocks = 0;
    std::size_t free_blocks = 0;
  };

  static constexpr Offset most_size =
      sizeof(Offset) == 8 ? std::numeric_limits<Offset>::max() / 2 : std::numeric_limits<Offset>::max();

  /// Expects: `size <= most_size`; the part after the last whole granule is not used.
  explicit tlsf_offsets(Offset size, const tlsf_offsets_options& options = {}, Upstream upstream = {})
      : nodes_(options.max_count, std::move(upstream)), granule_(static_cast<Offset>(options.granule)) {
    ASHLAR_REQUIRE(is_power_of_two(options.granule) && options.granule - 1 <= most_size / 2,
                   "granule is not a power of two, or is larger than a range");
    ASHLAR_REQUIRE(size <= most_size, "the range is larger than its offsets can express");
    size_ = round_down(size);
  }
  tlsf_offsets(const tlsf_offsets&) = delete;  // handles belong to one instance
  tlsf_offsets& operator=(const tlsf_offsets&) = delete;

  /// Returns: a block; a request of size 0 takes a granule. Throws: `std::bad_alloc` if there is no room, or as
  /// the upstream. Expects: `alignment` is a power of two.
  [[nodiscard]] range allocate(Offset size, Offset alignment = 1) {
    nodes_.ensure(most_new_nodes);
    const range got = try_allocate(size, alignment);
    if (ASHLAR_UNLIKELY(!got)) throw_bad_alloc(static_cast<std::size_t>(size), static_cast<std::size_t>(alignment));
    return got;
  }

  /// Returns: a block, or none. Expects: `alignment` is a power of two.
  [[nodiscard]] range try_allocate(Offset size, Offset alignment = 1) noexcept {
    ASHLAR_REQUIRE(std::has_single_bit(alignment), "alignment is not a power of two");
    if (ASHLAR_UNLIKELY(size > size_ || !start())) return {};
    const Offset taken = rounded(size);
    const link found = find(taken, alignment);
    if (ASHLAR_UNLIKELY(found == none)) return {};
    const Offset gap = gap_at(found, alignment);
    const Offset rest = static_cast<Offset>(node(found).size - gap - taken);
    if (!nodes_.try_ensure(std::size_t{gap != 0} + std::size_t{rest != 0})) return {};
    index_.remove(nodes_, found, nodes_.size(found));
    --free_blocks_;
    const link got = gap != 0 ? cut(found, gap) : found;
    if (gap != 0) add_free(found);
    if (rest != 0) add_free(cut(got, taken));
    node(got).state = nodes::state::live;
    used_ = static_cast<Offset>(used_ + taken);
    return {node(got).offset, static_cast<tlsf_handle>(got)};
  }

  /// Expects: `handle` names a live block.
  void deallocate(tlsf_handle handle) noexcept {
    check(handle);
    link freed = static_cast<link>(handle);
    used_ = static_cast<Offset>(used_ - node(freed).size);
    if (is_free(node(freed).behind)) {
      take_free(node(freed).behind);
      join(freed, node(freed).behind);
    }
    if (is_free(node(freed).front)) {
      const link front = node(freed).front;
      take_free(front);
      join(front, freed);
      freed = front;
    }
    add_free(freed);
  }

  /// As above. From level `checked` on, the offset must match the handle.
  void deallocate(const range& block) noexcept {
    check(block.handle);
    if constexpr (checking_level >= checking::checked)
      if (node(static_cast<link>(block.handle)).offset != block.offset)
        report_handle(fault::invalid_free, "freed a range with the handle of another", block.handle);
    deallocate(block.handle);
  }

  /// Effects: grows a block into a free block after it, or shrinks it; its offset stays.
  /// Returns: whether its size is now `size`; if not, nothing has changed. Expects: `handle` names a live block.
  [[nodiscard]] bool try_expand(tlsf_handle handle, Offset size) noexcept {
    check(handle);
    const link block = static_cast<link>(handle);
    const link behind = node(block).behind;
    const bool joins = is_free(behind);
    if (size > size_) return false;
    const Offset before = node(block).size;
    const Offset all = static_cast<Offset>(before + (joins ? node(behind).size : 0));
    const Offset wanted = rounded(size);
    if (wanted > all) return false;
    if (wanted == before) return true;
    if (!joins && !nodes_.try_ensure(1)) return false;
    if (joins) {
      take_free(behind);
      join(block, behind);
    }
    if (wanted != all) add_free(cut(block, wanted));
    used_ = static_cast<Offset>(used_ - before + wanted);
    return true;
  }

  /// Effects: extends the range to end at `size`, as a file grows. Returns: false if no record is available; then
  /// nothing has changed. Expects: `size` is at least the present size and at most `most_size`.
  [[nodiscard]] bool try_extend(Offset size) noexcept {
    ASHLAR_REQUIRE(size >= size_ && size <= most_size, "extended a range to less than its size, or beyond its offsets");
    const Offset more = static_cast<Offset>(round_down(size) - size_);
    if (more == 0) return true;
    if (last_ == none) return size_ = static_cast<Offset>(size_ + more), true;  // no request so far
    if (is_free(last_)) {
      take_free(last_);
      node(last_).size = static_cast<Offset>(node(last_).size + more);
      add_free(last_);
    } else {
      if (!nodes_.try_ensure(1)) return false;
      const link made = nodes_.make({size_, more, none, none, last_, none, nodes::state::free});
      node(last_).behind = made;
      last_ = made;
      add_free(made);
    }
    size_ = static_cast<Offset>(size_ + more);
    return true;
  }

  /// Effects: fetches records for `blocks` blocks, free ones included: no upstream call is needed up to that number.
  /// Throws: as the upstream.
  void reserve(std::size_t blocks) {
    if (blocks > nodes_.in_use()) nodes_.ensure(blocks - nodes_.in_use());
  }

  /// Effects: takes all blocks back and gives the records back.
  void release() noexcept {
    nodes_.release();
    index_.clear();
    last_ = none;
    used_ = 0;
    free_blocks_ = 0;
  }

  [[nodiscard]] Offset offset_of(tlsf_handle handle) const noexcept {
    check(handle);
    return node(static_cast<link>(handle)).offset;
  }
  /// Returns: the size of the block, larger than requested by less than a granule.
  [[nodiscard]] Offset size_of(tlsf_handle handle) const noexcept {
    check(handle);
    return node(static_cast<link>(handle)).size;
  }

  [[nodiscard]] Offset size() const noexcept { return size_; }                                ///< of the range
  [[nodiscard]] Offset used() const noexcept { return used_; }                                ///< in live blocks
  [[nodiscard]] std::size_t live() const noexcept { return nodes_.in_use() - free_blocks_; }  ///< blocks

  /// Returns: the largest request that is sure to succeed at the granule's alignment, if a record is available.
  [[nodiscard]] Offset largest_free() const noexcept {
    if (last_ == none) return size_;
    const link largest = index_.largest();
    return largest != none ? node(largest).size : 0;
  }

  [[nodiscard]] statistics report_storage() const noexcept {
    return {.used = used_,
            .free = static_cast<Offset>(size_ - used_),
            .largest_free = largest_free(),
            .live_blocks = live(),
            .free_blocks = last_ == none ? std::size_t{size_ != 0} : free_blocks_};
  }

  /// Effects: calls `f(offset, size, is_free)` for each block, from the highest offset down. Complexity: O(blocks).
  template <class F>
  void for_each_block(F f) const {
    for (link at = last_; at != none; at = node(at).front)
      f(node(at).offset, node(at).size, node(at).state == nodes::state::free);
  }

  /// Returns: the bytes held from the upstream, for records. Complexity: O(1).
  [[nodiscard]] std::size_t held_bytes() const noexcept { return nodes_.held_bytes(); }
  [[nodiscard]] Upstream& upstream_resource() noexcept { return nodes_.upstream_resource(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return nodes_.upstream_resource(); }

  /// Complexity: O(blocks).
  [[nodiscard]] bool invariant() const noexcept {
    if (last_ == none) return used_ == 0 && nodes_.in_use() == 0 && index_.empty();
    std::uint64_t end = size_, live_size = 0;
    std::size_t blocks = 0, free_ones = 0;
    link behind = none;
    for (link at = last_; at != none; behind = at, at = node(at).front, ++blocks) {
      const bool frees = node(at).state == nodes::state::free;
      if (node(at).behind != behind || node(at).size == 0 || node(at).offset + std::uint64_t{node(at).size} != end)
        return false;
      if (frees ? behind != none && is_free(behind) : node(at).state != nodes::state::live) return false;
      end = node(at).offset;
      frees ? void(++free_ones) : void(live_size += node(at).size);
    }
    return end == 0 && live_size == used_ && blocks == nodes_.in_use() && free_ones == free_blocks_ &&
           free_ones == index_.count(nodes_) && index_.invariant(nodes_);
  }

private:
  using records = detail::tlsf_records<Offset, Upstream>;
  using nodes = typename records::nodes;
  using link = typename nodes::link;
  using index = typename records::index;
  static constexpr link none = nodes::none;
  static constexpr std::size_t most_new_nodes = 3;  // the first block of the range, a gap in front, a rest after

  [[nodiscard]] typename nodes::node& node(link at) noexcept { return nodes_.at(at); }
  [[nodiscard]] const typename nodes::node& node(link at) const noexcept { return nodes_.at(at); }
  [[nodiscard]] bool is_free(link at) const noexcept { return at != none && node(at).state == nodes::state::free; }

  [[nodiscard]] Offset round_down(Offset size) const noexcept {
    return static_cast<Offset>(size & ~static_cast<Offset>(granule_ - 1));
  }
  // Expects: `size` is at most the size of the range. The range is a whole number of granules, so this does not
  // overflow.
  [[nodiscard]] Offset rounded(Offset size) const noexcept {
    return size == 0 ? granule_ : round_down(static_cast<Offset>(size + (granule_ - 1)));
  }

  // Returns: whether the range has its first block; the first request makes it.
  [[nodiscard]] ASHLAR_INLINE bool start() noexcept { return ASHLAR_LIKELY(last_ != none) || start_now(); }

  [[nodiscard]] ASHLAR_COLD bool start_now() noexcept {
    if (size_ == 0 || !nodes_.try_ensure(1)) return false;
    last_ = nodes_.make({0, size_, none, none, none, none, nodes::state::free});
    add_free(last_);
    return true;
  }

  [[nodiscard]] Offset gap_at(link at, Offset alignment) const noexcept {
    return static_cast<Offset>((Offset{0} - node(at).offset) & (alignment - 1));
  }

  [[nodiscard]] link find(Offset size, Offset alignment) const noexcept {
    const std::uint64_t wanted = size;
    const std::uint64_t extra = alignment > granule_ ? std::uint64_t{alignment} - granule_ : 0;
    const std::uint64_t room = extra < std::uint64_t{most_size} - wanted ? wanted + extra : std::uint64_t{most_size};
    const auto fits = [this, wanted, alignment](link at) {
      return node(at).size >= wanted && node(at).size - wanted >= gap_at(at, alignment);
    };
    const link found = index_.find(wanted, room, fits);
    return found != none && fits(found) ? found : none;
  }

  ASHLAR_INLINE void add_free(link at) noexcept {
    node(at).state = nodes::state::free;
    index_.insert(nodes_, at, nodes_.size(at));
    ++free_blocks_;
  }

  ASHLAR_INLINE void take_free(link at) noexcept {
    index_.remove(nodes_, at, nodes_.size(at));
    --free_blocks_;
  }

  // Returns: a new block: the part of `block` after its first `size`. Expects: a record is ready.
  [[nodiscard]] link cut(link block, Offset size) noexcept {
    const auto whole = node(block);
    const link made = nodes_.make({static_cast<Offset>(whole.offset + size), static_cast<Offset>(whole.size - size),
                                   none, none, block, whole.behind, nodes::state::live});
    node(block).size = size;
    node(block).behind = made;
    (whole.behind != none ? node(whole.behind).front : last_) = made;
    return made;
  }

  // Effects: merges `behind` into the block in front of it.
  void join(link front, link behind) noexcept {
    node(front).size = static_cast<Offset>(node(front).size + node(behind).size);
    node(front).behind = node(behind).behind;
    (node(behind).behind != none ? node(node(behind).behind).front : last_) = front;
    nodes_.drop(behind);
  }

  void check(tlsf_handle handle) const noexcept {
    if constexpr (checking_level >= checking::checked) {
      const link at = static_cast<link>(handle);
      if (!nodes_.has(at)) report_handle(fault::invalid_free, "used a handle that is not of this range", handle);
      if (node(at).state != nodes::state::live)
        report_handle(fault::double_free, "used a handle whose block is free", handle);
    }
  }

  [[noreturn]] ASHLAR_COLD void report_handle(fault kind, const char* what, tlsf_handle handle) const noexcept {
    report({.kind = kind, .what = what, .resource = this, .size = static_cast<std::size_t>(handle)});
  }

  nodes nodes_;
  Offset granule_;
  Offset size_ = 0;
  Offset used_ = 0;
  std::size_t free_blocks_ = 0;
  link last_ = none;
  index index_;
};

}  // namespace ashlar::ASHLAR_ABI
