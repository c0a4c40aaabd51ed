// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap beside its model: a random walk over all its calls, with a comparison after each step; the contents of live
// blocks are computed from a seed and not stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/heap/local_heap.hpp>

namespace ashlar_test {

/// The source of a model's decisions: the bytes of a fuzzer until they end, or an endless generator.
class decisions {
public:
  decisions(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  explicit decisions(std::uint64_t seed) : state_(seed * 2 + 1), is_endless_(true) {}

  [[nodiscard]] bool is_endless() const { return is_endless_; }
  [[nodiscard]] bool is_over() const { return !is_endless_ && at_ == end_; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }  ///< the number of decisions

  /// Returns: a number below `n`. Expects: `0 < n < 2^32`.
  [[nodiscard]] std::size_t below(std::size_t n) {
    ++taken_;
    if (is_endless_) return static_cast<std::size_t>((drawn() * n) >> 32);
    std::size_t number = 0;
    for (std::size_t range = 1; range < n; range *= 256) number = number * 256 + (is_over() ? 0u : *at_++);
    return number % n;
  }

  [[nodiscard]] bool one_in(std::size_t n) { return below(n) == n - 1; }

private:
  // SplitMix64 (Steele, Lea and Flood, 2014), the upper half.
  [[nodiscard]] std::uint64_t drawn() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) >> 32;
  }

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::uint64_t state_ = 0;
  std::uint64_t taken_ = 0;
  bool is_endless_ = false;
};

/// Effects: ends the process and prints the place, unless `condition` holds.
inline void require(bool condition, const std::source_location where = std::source_location::current()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%u: the heap and its shadow differ\n", where.file_name(), where.line());
  std::abort();
}

/// One live block. All bytes up to `filled` hold the pattern of its seed. A large block has the pattern at its ends
/// only, unless it is `whole`, since untouched pages cost nothing.
struct shadow_block {
  static constexpr std::size_t end = 512;  // bytes of an end

  std::byte* p = nullptr;
  std::size_t bytes = 0;   ///< requested
  std::size_t most = 0;    ///< a sized free gives any size from `bytes` to this
  std::size_t filled = 0;  ///< `bytes`, or all usable bytes
  std::size_t alignment = 0;
  std::uint32_t seed = 0;
  std::uint32_t fixed = 0;  ///< number of the compile-time size of its allocation, from 1
  bool whole = false;

  void fill() const {
    for_each_part(filled, [this](std::size_t from, std::size_t to) { write(from, to); });
  }

  /// Returns: whether the filled bytes below `limit` are unchanged at their new address `at`.
  [[nodiscard]] bool is_intact(const std::byte* at, std::size_t limit) const {
    bool right = true;
    for_each_part(std::min(filled, limit),
                  [&](std::size_t from, std::size_t to) { right = right && holds(at, from, to); });
    return right;
  }
  [[nodiscard]] bool is_intact() const { return is_intact(p, filled); }

private:
  using word = std::uint64_t;

  template <class F>
  void for_each_part(std::size_t limit, F f) const {
    if (whole || filled <= 2 * end) return f(0, limit);
    f(0, std::min(end, limit));
    const std::size_t tail = ashlar::align_down(filled - end, sizeof(word));
    if (tail < limit) f(tail, limit);
  }

  [[nodiscard]] word word_at(std::size_t i) const {
    return seed * word{0x9E3779B97F4A7C15} + i * word{0xD1B54A32D192ED03};
  }

  void write(std::size_t from, std::size_t to) const {
    const std::size_t whole_words = to / sizeof(word);
    for (std::size_t i = from / sizeof(word); i < whole_words; ++i) {
      const word each = word_at(i);
      std::memcpy(p + i * sizeof(word), &each, sizeof each);
    }
    const word last = word_at(whole_words);
    std::memcpy(p + whole_words * sizeof(word), &last, to % sizeof(word));
  }

  // Compares all words, so that compilers vectorise the loop.
  [[nodiscard]] bool holds(const std::byte* at, std::size_t from, std::size_t to) const {
    const std::size_t whole_words = to / sizeof(word);
    word wrong = 0;
    for (std::size_t i = from / sizeof(word); i < whole_words; ++i) {
      word found;
      std::memcpy(&found, at + i * sizeof(word), sizeof found);
      wrong |= found ^ word_at(i);
    }
    const word last = word_at(whole_words);
    return wrong == 0 && std::memcmp(at + whole_words * sizeof(word), &last, to % sizeof(word)) == 0;
  }
};

/// Returns: whether bytes are zero: all of a small block; of a large one its ends and a byte of each page.
[[nodiscard]] inline bool is_zero(const std::byte* p, std::size_t bytes) {
  const auto all = [p](std::size_t from, std::size_t to) {
    return std::all_of(p + from, p + to, [](std::byte each) { return each == std::byte{0}; });
  };
  if (bytes <= 65536) return all(0, bytes);
  for (std::size_t at = 0; at < bytes; at += 4096)
    if (p[at] != std::byte{0}) return false;
  return all(0, 4096) && all(bytes - 4096, bytes);
}

/// The bounds of a walk.
struct walk_bounds {
  std::size_t most_blocks = 64;
  std::size_t most_bytes = std::size_t{256} << 20;  ///< live requested bytes
  std::size_t largest = std::size_t{20} << 20;
  unsigned most_alignment = 23;  ///< logarithm of the alignment
  bool has_limits = true;        ///< also heaps with `max_bytes`
  bool is_huge = false;          ///< huge blocks alone
};

/// Every block holds its own pattern, which is verified when it is freed, resized or released. A null needs a reason: a
/// refused call of the upstream, or `max_bytes`. Without GoogleTest, for fuzz targets: a failure ends the process.
template <class Heap>
class heap_model {
  using upstream_type = std::remove_cvref_t<decltype(std::declval<const Heap&>().upstream_resource())>;

public:
  heap_model(decisions& from, const std::size_t& refusals, const walk_bounds& bounds, upstream_type upstream = {})
      : from_(from), refusals_(refusals), bounds_(bounds), upstream_(upstream) {
    begin();
  }

  [[nodiscard]] const Heap& heap() const { return *heap_; }
  [[nodiscard]] const std::vector<shadow_block>& blocks() const { return blocks_; }

  /// Effects: makes one call of the heap. Complexity: O(1) amortised, apart from the contents.
  void step() {
    if (steps_++ == next_phase_) begin_phase();
    const std::size_t what = from_.below(128);
    if (what < 88) return (blocks_.size() < target_) == (what % 8 != 0) ? allocate() : free_one();
    if (what < 100) return expand_one();
    if (what < 120) return reallocate_one();
    if (what < 126) return look_at_one();
    what == 126 && from_.one_in(from_.is_endless() ? 32 : 8) ? do_something_rare() : ask_for_too_much();
  }

  /// Effects: compares everything. Complexity: O(n log n) of the live blocks, and their contents.
  void check() {
    require(heap_->invariant());
    std::vector<shadow_block> sorted = blocks_;
    const auto by_address = [](const shadow_block& a, const shadow_block& b) { return a.p < b.p; };
    std::sort(sorted.begin(), sorted.end(), by_address);
    for (std::size_t i = 1; i < sorted.size(); ++i)
      require(sorted[i - 1].p + heap_->usable_size(sorted[i - 1].p) <= sorted[i].p);
    std::size_t seen = 0;
    heap_->for_each_live([&](void* p, std::size_t bytes) {
      shadow_block wanted;
      wanted.p = static_cast<std::byte*>(p);
      const auto found = std::lower_bound(sorted.begin(), sorted.end(), wanted, by_address);
      require(found != sorted.end() && found->p == p && bytes == heap_->usable_size(p));
      ++seen;
    });
    require(seen == sorted.size() && heap_->invariant());
    for (const shadow_block& each : blocks_) require(each.is_intact());
  }

  /// Effects: frees all blocks, one by one or at once, and ends the heap.
  void end() {
    check();
    if (from_.one_in(2))
      while (!blocks_.empty()) free_one();
    if (from_.one_in(2)) release();
    require(heap_->invariant());
    blocks_.clear();
    heap_.reset();
  }

private:
  enum class kind { any, one, small, cells, runs, huge };
  static constexpr std::size_t kinds = 6;

  // Compile-time sizes: one for each path, and the edges between paths.
  struct fixed_size {
    std::size_t bytes, alignment;
    void* (*take)(Heap&);
    void (*give)(Heap&, void*);
  };
  template <std::size_t Bytes, std::size_t Alignment = Heap::least_alignment>
  static constexpr fixed_size fixed() {
    return {Bytes, Alignment, [](Heap& heap) { return heap.template allocate<Bytes, Alignment>(); },
            [](Heap& heap, void* p) { heap.template deallocate<Bytes, Alignment>(p); }};
  }
  static constexpr fixed_size fixed_sizes[] = {fixed<0>(),       fixed<1>(),     fixed<48>(),      fixed<100, 256>(),
                                               fixed<1000, 8>(), fixed<32768>(), fixed<32769>(),   fixed<24, 4096>(),
                                               fixed<100'000>(), fixed<9, 1>(),  fixed<160, 32>(), fixed<5'000'000>(),
                                               fixed<1, 65536>()};

  struct wish {
    std::size_t bytes, alignment;
  };

  void begin() {
    constexpr std::size_t no_limit = ashlar::max_size;
    constexpr std::size_t limits[] = {no_limit, no_limit, std::size_t{5} << 20, std::size_t{30} << 20};
    constexpr std::size_t kept[] = {std::size_t{16} << 20, 0, std::size_t{1} << 20};
    options_ = {.max_bytes = bounds_.has_limits ? limits[from_.below(4)] : no_limit,
                .retain_bytes = kept[from_.below(3)]};
    heap_ = std::make_unique<Heap>(options_, upstream_);
    require(heap_->held_bytes() == 0 && heap_->segments() == 0);
    next_phase_ = steps_;
  }

  void begin_phase() {
    kind_ = bounds_.is_huge ? kind::huge : static_cast<kind>(from_.below(kinds));
    if (!bounds_.is_huge && kind_ == kind::huge && from_.is_endless() && from_.below(8) != 0)
      kind_ = kind::cells;  // huge blocks cost most
    order_ = from_.below(3);
    one_size_ = from_.below(from_.one_in(2) ? 512 : 33'000);
    const std::size_t most = kind_ == kind::huge   ? 6
                             : kind_ == kind::runs ? 120
                             : kind_ == kind::any  ? 2000
                                                   : bounds_.most_blocks;
    target_ = from_.below(4) == 0 ? 0 : from_.below(std::min(most, bounds_.most_blocks) + 1);
    next_phase_ = steps_ + 32 + (from_.is_endless() ? 2 * std::max(target_, blocks_.size()) + from_.below(4000) : 0);
    if (from_.is_endless() && from_.one_in(4)) check();
  }

  [[nodiscard]] std::size_t drawn_size() {
    switch (kind_ == kind::any ? any_kind() : kind_) {
      case kind::one: return one_size_;
      case kind::small: return from_.below(256);
      case kind::runs: return near_slices(from_.below(20));
      case kind::huge: return from_.one_in(2) ? near_slices(from_.below(80)) : from_.below(bounds_.largest);
      case kind::cells:
      case kind::any: break;
    }
    const std::size_t number = 1 + from_.below(ashlar::detail::size_classes::count);  // mostly about its cell
    return ashlar::detail::size_classes::bytes_of(number) + from_.below(3) - (from_.one_in(4) ? 15 : 1);
  }

  [[nodiscard]] kind any_kind() {
    const std::size_t drawn = from_.below(256);
    return drawn < 160                           ? kind::small
           : drawn < 248                         ? kind::cells
           : drawn != 255 || from_.below(4) != 0 ? kind::runs
                                                 : kind::huge;
  }

  [[nodiscard]] std::size_t near_slices(std::size_t slices) {
    return std::min(bounds_.largest, slices * 65536 + (from_.one_in(2) ? from_.below(3) : from_.below(65536)));
  }

  [[nodiscard]] std::size_t drawn_alignment() {
    const std::size_t drawn = from_.below(64);
    if (drawn < 48) return Heap::least_alignment;
    return std::size_t{1} << from_.below(drawn < 62 ? 13 : bounds_.most_alignment + 1);
  }

  [[nodiscard]] wish drawn_wish() {
    const wish drawn = {drawn_size(), drawn_alignment()};
    return drawn.bytes <= bounds_.most_bytes - std::min(bounds_.most_bytes, live_bytes_) ? drawn : wish{1, 1};
  }

  // Returns: whether a null is right, with `refused` read before the call.
  [[nodiscard]] bool may_say_no(const wish& w, std::size_t refused) const {
    constexpr std::size_t head = ashlar::detail::first_slice * ashlar::detail::slice_bytes;
    constexpr std::size_t around = head + (std::size_t{1} << 20);  // and a slab
    return refusals_ != refused || options_.max_bytes - heap_->held_bytes() < w.bytes + w.alignment + around;
  }

  // Without exceptions a failed throwing call ends the program.
  static constexpr bool may_throw = ASHLAR_HAS_EXCEPTIONS != 0;

  // Any other exception than `bad_alloc` ends the process.
  template <class F>
  [[nodiscard]] static void* null_if_thrown(F f) noexcept {
#if defined(__cpp_exceptions)
    try {
      return f();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
#else
    return f();
#endif
  }

  void allocate() {
    if (blocks_.size() >= bounds_.most_blocks) return free_one();
    const wish w = drawn_wish();
    const std::size_t refused = refusals_, how = from_.below(16);
    if (may_throw && how == 0) return allocate_fixed();
    if (may_throw && how == 1) return allocate_at_least(w);
    if (may_throw && how == 2) return allocate_zeroed(w);
    void* const p = !may_throw || how < 12 ? heap_->try_allocate(w.bytes, w.alignment)
                                           : null_if_thrown([&] { return heap_->allocate(w.bytes, w.alignment); });
    require(p != nullptr || may_say_no(w, refused));
    if (p != nullptr) hold(p, w);
  }

  void allocate_fixed() {
    const std::size_t number = from_.below(std::size(fixed_sizes)), refused = refusals_;
    const fixed_size& size = fixed_sizes[number];
    void* const p = null_if_thrown([&] { return size.take(*heap_); });
    require(p != nullptr || may_say_no({size.bytes, size.alignment}, refused));
    if (p == nullptr) return;
    hold(p, {size.bytes, size.alignment});
    blocks_.back().fixed = static_cast<std::uint32_t>(number + 1);
  }

  void allocate_at_least(const wish& w) {
    const std::size_t refused = refusals_;
    std::size_t most = 0;
    void* const p = null_if_thrown([&] {
      const ashlar::block got = heap_->allocate_at_least(w.bytes, w.alignment);
      return most = got.size, got.data;
    });
    require(p != nullptr || may_say_no(w, refused));
    if (p == nullptr) return;
    require(most == heap_->usable_size(p));
    hold(p, w);
    blocks_.back().most = most;
  }

  void allocate_zeroed(const wish& w) {
    const std::size_t refused = refusals_;
    void* const p = null_if_thrown([&] { return heap_->allocate_zeroed(w.bytes, w.alignment); });
    require(p != nullptr || may_say_no(w, refused));
    if (p == nullptr) return;
    require(is_zero(static_cast<const std::byte*>(p), w.bytes));
    hold(p, w);
  }

  // Adds a block of size `w` to the model, and fills its requested or its usable bytes.
  void hold(void* p, const wish& w) {
    const std::size_t usable = heap_->usable_size(p);
    auto* const first = static_cast<std::byte*>(p);
    require(ashlar::is_aligned(p, std::max(w.alignment, Heap::least_alignment)) && usable >= w.bytes);
    require(heap_->owns(p) && heap_->owns(first + usable - 1) && heap_->held_bytes() <= options_.max_bytes);
    shadow_block held{.p = first, .bytes = w.bytes, .most = w.bytes, .alignment = w.alignment};
    held.filled = from_.one_in(4) ? usable : w.bytes;
    held.seed = next_seed_++;
    held.whole = held.filled <= 4096 || from_.one_in(held.filled < 65536 ? 8 : 128);
    held.fill();
    live_bytes_ += held.bytes;
    blocks_.push_back(held);
  }

  [[nodiscard]] std::size_t picked() {
    if (order_ == 0) return from_.below(blocks_.size());
    return order_ == 1 ? blocks_.size() - 1 : next_picked_++ % blocks_.size();
  }

  // Removes a block from the model; its contents must be right.
  [[nodiscard]] shadow_block taken() {
    shadow_block& at = blocks_[picked()];
    const shadow_block taken = at;
    at = blocks_.back();
    blocks_.pop_back();
    live_bytes_ -= taken.bytes;
    require(taken.is_intact());
    return taken;
  }

  void keep(const shadow_block& same) {
    require(same.is_intact() && heap_->usable_size(same.p) >= same.filled);
    live_bytes_ += same.bytes;
    blocks_.push_back(same);
  }

  void free_one() {
    if (blocks_.empty()) return heap_->deallocate(nullptr);
    const shadow_block b = taken();
    const std::size_t how = from_.below(8);
    if (b.fixed != 0 && how < 6) return fixed_sizes[b.fixed - 1].give(*heap_, b.p);
    if (how < 4) return heap_->deallocate(b.p);
    heap_->deallocate(b.p, b.most == b.bytes ? b.bytes : b.bytes + from_.below(b.most - b.bytes + 1), b.alignment);
  }

  // Returns: the next size of a block: a random one, or a little more or less than now.
  [[nodiscard]] std::size_t resized(std::size_t bytes) {
    switch (from_.below(6)) {
      case 0: return drawn_wish().bytes;
      case 1: return bytes + from_.below(bytes < 65536 ? 64 : 200'000);
      case 2: return bytes - std::min(bytes, from_.below(bytes < 65536 ? 64 : 200'000));
      case 3: return from_.below(bytes + 1);
      case 4: return bytes;
      default: return bytes + from_.below(16);
    }
  }

  void expand_one() {
    if (blocks_.empty()) return allocate();
    const shadow_block b = taken();
    const std::size_t wanted = resized(b.bytes), usable = heap_->usable_size(b.p);
    const std::size_t named = b.most == b.bytes ? b.bytes : b.bytes + from_.below(b.most - b.bytes + 1);
    if (!heap_->try_expand(b.p, named, wanted, b.alignment)) {
      // The system may refuse to take back the pages of a huge block that the new size leaves over.
      const bool has_tail = usable > ashlar::detail::segment_bytes / 2 && usable - std::min(usable, wanted) >= 4096;
      require(b.alignment > Heap::least_alignment || wanted < b.bytes || wanted > usable || has_tail);
      return keep(b);
    }
    require(b.is_intact(b.p, wanted));
    hold(b.p, {wanted, b.alignment});
  }

  void reallocate_one() {
    if (blocks_.empty()) return reallocate_nothing();
    const shadow_block b = taken();
    if (!bounds_.is_huge && b.bytes > 100'000 && from_.below(8) != 0) return keep(b);  // a copy would touch every page
    const wish w = {resized(b.bytes), from_.one_in(4) ? drawn_alignment() : b.alignment};
    const std::size_t refused = refusals_;
    void* const p = !may_throw || from_.below(4) != 0
                        ? heap_->try_reallocate(b.p, w.bytes, w.alignment)
                        : null_if_thrown([&] { return heap_->reallocate(b.p, w.bytes, w.alignment); });
    require(p != nullptr || may_say_no(w, refused));
    if (p == nullptr) return keep(b);
    require(b.is_intact(static_cast<const std::byte*>(p), w.bytes));
    hold(p, w);
  }

  void reallocate_nothing() {
    const wish w = drawn_wish();
    const std::size_t refused = refusals_;
    void* const p = heap_->try_reallocate(nullptr, w.bytes, w.alignment);
    require(p != nullptr || may_say_no(w, refused));
    if (p != nullptr) hold(p, w);
  }

  void look_at_one() {
    if (blocks_.empty()) return require(!heap_->owns(this) && !heap_->owns(nullptr));
    const shadow_block& b = blocks_[picked()];
    const std::size_t usable = heap_->usable_size(b.p);
    require(usable >= b.most && usable >= b.filled && b.is_intact());
    require(heap_->owns(b.p + from_.below(usable)));
  }

  // Requests impossible sizes by every call. All blocks stay; free memory may go, to make room.
  void ask_for_too_much() {
    constexpr std::size_t most = ashlar::max_block_bytes, mib = std::size_t{1} << 20;
    const std::size_t alignment = std::size_t{1} << from_.below(sizeof(std::size_t) * 8), less = from_.below(66);
    const std::size_t held = heap_->held_bytes(), segments = heap_->segments();
    for (const std::size_t size :
         {ashlar::max_size, most + 65, most, most - std::min(alignment, most / 4) + 65, most - 4 * mib, most - mib}) {
      refuse_by_every_call(size - less, alignment);
      if (blocks_.empty()) continue;
      const shadow_block& b = blocks_[picked()];
      require(heap_->try_reallocate(b.p, size - less, alignment) == nullptr);
      require(!heap_->try_expand(b.p, b.bytes, size - less, b.alignment) && b.is_intact());
    }
    require(heap_->held_bytes() <= held && heap_->segments() <= segments);
  }

  void refuse_by_every_call(std::size_t bytes, std::size_t alignment) {
    require(heap_->try_allocate(bytes, alignment) == nullptr);
    require(heap_->try_reallocate(nullptr, bytes, alignment) == nullptr);
    if constexpr (!may_throw) return;
    require(null_if_thrown([&] { return heap_->allocate(bytes, alignment); }) == nullptr);
    require(null_if_thrown([&] { return heap_->allocate_zeroed(bytes, alignment); }) == nullptr);
    require(null_if_thrown([&] { return heap_->allocate_at_least(bytes, alignment).data; }) == nullptr);
    require(null_if_thrown([&] { return heap_->reallocate(nullptr, bytes, alignment); }) == nullptr);
  }

  void do_something_rare() {
    switch (from_.below(8)) {
      case 0: return release();
      case 1: return begin_anew();
      case 2:
      case 3: return from_.is_endless() ? static_cast<void>(heap_->trim()) : check();
      default: static_cast<void>(heap_->trim(from_.below(40) << 20)); return;
    }
  }

  void release() {
    for (const shadow_block& each : blocks_) require(each.is_intact());
    blocks_.clear();
    live_bytes_ = 0;
    heap_->release();
    require(heap_->held_bytes() == 0 && heap_->segments() == 0 && heap_->invariant());
  }

  void begin_anew() {
    blocks_.clear();
    live_bytes_ = 0;
    begin();
  }

  decisions& from_;
  const std::size_t& refusals_;
  walk_bounds bounds_;
  upstream_type upstream_;
  ashlar::heap_options options_;
  std::unique_ptr<Heap> heap_;
  std::vector<shadow_block> blocks_;
  std::size_t live_bytes_ = 0;
  std::uint32_t next_seed_ = 1;
  std::size_t steps_ = 0;
  std::size_t next_phase_ = 0;
  kind kind_ = kind::any;
  std::size_t order_ = 0;
  std::size_t one_size_ = 0;
  std::size_t target_ = 0;
  std::size_t next_picked_ = 0;
};

}  // namespace ashlar_test
