// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slabs of one pool: the next slab to take cells from, the empty slabs, and the slab of an address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/support/intrusive.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A direct-mapped table of slabs by address, which answers most look-ups of a free with one load. Some of the slabs of
/// a pool, each at the entry of its slab number, address / slab_bytes. A slab displaces another one of the same entry:
/// the table may lack a held slab, but never names one that is not held.
///
///   address -> slab number -> [ entry: slab or null ] -> is the address in a cell of it? -> else the tree of all
///
/// Thread safety: none. Complexity: O(1) unless stated.
class slab_map {
public:
  static constexpr std::size_t places = is_hosted ? 256 : 16;  // 256: 16 MiB of neighbouring slabs of 64 KiB

  /// Returns: the only slab here that may have that slab number, or null.
  [[nodiscard]] ASHLAR_INLINE slab* at(std::size_t number) const noexcept { return slabs_[number % places]; }

  void remember(slab* held, std::size_t number) noexcept { slabs_[number % places] = held; }

  /// Complexity: O(places).
  void forget(const slab* leaving) noexcept {
    for (slab*& each : slabs_)
      if (each == leaving) each = nullptr;
  }

private:
  std::array<slab*, places> slabs_ = {};
};

/// The last `most` freed cells of all slabs of a pool; those that are still free have a bit in their slab's `resting`
/// bitmap. A resting cell counts as free: it retains no slab, and it is handed out if no other cell is left.
///
///   add -> | newest ... oldest | -> rests no longer
///
/// Invariant: a resting cell is free. Thread safety: none.
class quarantine {
public:
  static constexpr std::size_t most = 64;  // cells

  /// Effects: puts a free cell to rest, and ends the rest of the oldest.
  ASHLAR_INLINE void add(slab* home, std::uint32_t cell) noexcept {
    place& oldest = places_[next_];
    if (ASHLAR_LIKELY(oldest.home != nullptr)) oldest.end();
    oldest = {home, &home->resting().word(cell / 64), cell};
    *oldest.word |= bit_of(cell);
    next_ = (next_ + 1) % most;
  }

  /// Effects: takes up to `wanted` free cells of a bitmap word, from those that do not rest; if all rest, the one
  /// freed first. Expects: `from` has a free cell. Complexity: O(words).
  [[nodiscard]] slab::taken take_batch(slab* from, std::size_t wanted) noexcept {
    if (const slab::taken rested = from->take_rested_word(wanted); rested.mask != 0) return rested;
    for (std::size_t age = 0; age < most; ++age) {
      place& each = places_[(next_ + age) % most];
      if (each.home == from && from->resting()[each.cell]) return from->take_cell(take(each));
    }
    return from->take_batch(wanted);
  }

  /// Effects: forgets the cells of a slab that is going away. Complexity: O(most).
  void forget(const slab* leaving) noexcept {
    for (place& each : places_)
      if (each.home == leaving) each = {};
  }

  /// Effects: ends the rest of all cells. Complexity: O(most).
  void clear() noexcept {
    for (place& each : places_) {
      const place was = std::exchange(each, {});
      if (was.home != nullptr) was.end();
    }
  }

private:
  struct place {
    slab* home = nullptr;
    std::uint64_t* word = nullptr;  // the word of the slab's `resting` with the cell's bit
    std::uint32_t cell = 0;

    ASHLAR_INLINE void end() const noexcept { *word &= ~bit_of(cell); }
  };

  [[nodiscard]] static std::uint32_t take(place& from) noexcept { return std::exchange(from, {}).cell; }

  std::array<place, most> places_ = {};
  std::size_t next_ = 0;
};

/// Cells leave in batches of up to 64 or in runs of neighbours, and come back one by one; neither writes to a cell.
///
/// Batches come from one slab until it is full. The next slab is the fullest, the lowest among equally full ones, so
/// that the others may become empty and go back:
///
///     bin        0       1        2        3       4       5
///     free cells | some  | > 1/16 | > 1/8  | > 1/4 | > 1/2 | all |        batches: bins 1, 2, 3, 4, 0, 5
///                                                                         runs:    bins 4, 5
///
/// Bin 0 comes late: with so few free cells in a slab, the search for each is long. A slab is filed again when its
/// `free` reaches its `turn`, so that a free costs one comparison; slabs in use for batches or runs are in no bin.
///
/// Batches are taken by lanes; each thread has one. Each lane has bins 0 to 4 and a slab in use of its own, so that
/// threads do not write to each other's cache lines; all lanes share bin 5. A lane without free cells takes over the
/// slabs of others before the pool grows, so every free cell is reachable. Runs belong to lane 0. Invariant: `taken_ ==
/// sum over slabs of (capacity - free)`. Each slab is in `all_`; it is in a bin iff it has a free cell and is not in
/// use, and in bin 5 iff all its cells are free; `free < turn` except in bin 5. The short slab (see `slab_geometry`) is
/// in bin 4 when all its cells are free, so that it stays. Thread safety: none. Complexity: O(1) unless stated.
class slab_set {
  static constexpr std::uint32_t empty_bin = 5;

  // The slabs that one lane takes batches from.
  struct lane_bins {
    std::array<address_heap<slab>, empty_bin> bins;
    slab* for_words = nullptr;
  };

public:
  static constexpr std::uint32_t lanes = 8;
  using other_lanes = std::array<lane_bins, lanes - 1>;

  /// Effects: makes lanes above 0 available. Lifetime: `others` outlives the set.
  void use_lanes(other_lanes& others) noexcept { other_lanes_ = others.data(); }

  [[nodiscard]] bool has_free() const noexcept { return taken_ != capacity_; }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }        ///< cells
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }  ///< cells
  [[nodiscard]] std::size_t slabs() const noexcept { return slabs_; }
  [[nodiscard]] std::size_t empty_slabs() const noexcept { return empty_slabs_; }
  /// Returns: an empty slab, or null.
  [[nodiscard]] slab* empty_slab() const noexcept { return empty_.top(); }

  /// @{ Any thread may call them. Returns: the short slab, or null / whether `p` points into it, which is constant
  /// while a cell at `p` is live.
  [[nodiscard]] ASHLAR_INLINE slab* short_slab() const noexcept { return short_.load(memory_order_relaxed); }
  [[nodiscard]] ASHLAR_INLINE bool is_in_short(const slab_geometry& geometry, const void* p) const noexcept {
    return address_of(p) - address_of(short_slab()) < geometry.short_bytes();  // no address is as low without one
  }
  /// @}

  /// Effects: adds the short slab, with all cells free. Expects: there is none.
  void add_short(slab* fresh) noexcept {
    short_.store(fresh, memory_order_relaxed);
    add(fresh);
  }

  /// Effects: adds a slab with all cells free. Complexity: expected O(log slabs).
  ASHLAR_INLINE void add(slab* fresh) noexcept {
    file(fresh);
    all_.insert(fresh);
    capacity_ += fresh->capacity;
    ++slabs_;
  }

  /// Effects: removes an empty slab. Complexity: expected O(log slabs).
  ASHLAR_INLINE void remove(slab* leaving) noexcept {
    take_off(leaving);
    all_.erase(leaving);
    if (quarantine_) quarantine_->forget(leaving);
    forget(leaving);
    if (leaving == short_slab()) short_.store(nullptr, memory_order_relaxed);
    capacity_ -= leaving->capacity;
    --slabs_;
  }

  /// Returns: up to `most` free cells, now taken. Resting cells come last, the one freed first before the others.
  /// Expects: `has_free()`, `most > 0`, `lane < lanes`.
  /// Complexity: O(words of a slab), amortised O(log slabs) per slab.
  [[nodiscard]] cell_batch take_batch(const slab_geometry& geometry, std::size_t most,
                                      std::uint32_t lane = 0) noexcept {
    slab*& used = lane_at(lane).for_words;
    if (used == nullptr) used = open_for_words(lane);
    slab* const from = used;
    const slab::taken got = quarantine_ ? quarantine_->take_batch(from, most) : from->take_batch(most);
    if (from->free == 0) close(used);
    return leave(geometry, from, got);
  }

  /// Returns: a free cell, now taken, by lane 0; none if `take_batch` is needed, which alone finds other words and
  /// slabs.
  [[nodiscard]] ASHLAR_INLINE located_cell take_next_cell() noexcept {
    slab* const from = lane_0_.for_words;
    if (ASHLAR_UNLIKELY(from == nullptr || from->free == 1)) return {};
    const std::uint64_t rested = from->rested_in_next();
    if (ASHLAR_UNLIKELY(rested == 0)) return {};
    ++taken_;
    return {from, from->take_lowest(rested)};
  }

  /// Returns: `cells` neighbouring cells of one word of a slab, now taken; none if the few searched slabs and words
  /// have no such run: a fresh slab has one. Expects: `1 <= cells <= 64`, and at most a slab's capacity.
  [[nodiscard]] cell_batch take_run(const slab_geometry& geometry, std::size_t cells) noexcept {
    for (int tried = 0; tried < 3; ++tried) {
      if (for_runs_ == nullptr && (for_runs_ = open_for_runs(tried != 0)) == nullptr) break;
      slab* const from = for_runs_;
      const slab::taken got = from->take_run(cells, most_run_words);
      if (got.mask == 0 || from->free == 0) close(for_runs_);
      if (got.mask != 0) return leave(geometry, from, got);
    }
    return {};
  }

  /// Effects: takes a cell back. Returns: its slab if it must be filed again: then the next call must be `refile`; else
  /// null. Expects: the cell is taken.
  [[nodiscard]] ASHLAR_INLINE slab* give(const slab_geometry& geometry, void* cell) noexcept {
    const located_cell at = locate(geometry, cell);
    return give(at.home, at.index);
  }
  /// Returns: whether a slab with one more free cell stays in its bin.
  [[nodiscard]] static ASHLAR_INLINE bool stays_filed(const slab* home) noexcept { return home->free + 1 < home->turn; }

  [[nodiscard]] ASHLAR_INLINE slab* give(slab* home, std::uint32_t cell) noexcept {
    home->set_free(cell);
    --taken_;
    return ASHLAR_LIKELY(home->free < home->turn) ? nullptr : home;
  }

  /// Effects: puts a free cell to rest, at the levels with a quarantine.
  ASHLAR_INLINE void rest(slab* home, std::uint32_t cell) noexcept {
    if (quarantine_) quarantine_->add(home, cell);
  }

  /// As `give`, for all cells of `mask` in a word of `home`. Expects: `mask` is not empty. Cells that are free, since
  /// they were freed twice, do not count: a slab without a free cell would be searched for one without end.
  [[nodiscard]] slab* give_batch(slab* home, std::uint32_t word, std::uint64_t mask) noexcept {
    mask &= ~home->bits()[word];
    home->set_free(word, mask);
    taken_ -= count_bits(mask);
    return home->free < home->turn ? nullptr : home;
  }

  /// Effects: files a slab again. Returns: whether it is empty. Complexity: amortised O(log slabs).
  ASHLAR_INLINE bool refile(slab* home) noexcept {
    if (home->bin != no_bin) take_off(home);
    if (slab*& used = lane_at(home->lane).for_words; home == used) used = nullptr;
    if (home == for_runs_) for_runs_ = nullptr;
    file(home);
    return home->bin == empty_bin;
  }

  /// Returns: a cell of this set by its slab and index.
  [[nodiscard]] ASHLAR_INLINE located_cell locate(const slab_geometry& geometry, void* cell) const noexcept {
    if (ASHLAR_UNLIKELY(is_in_short(geometry, cell))) return {short_slab(), index_in_short(geometry, cell)};
    slab* const home = slab_around(geometry, cell);
    return {home, index_in(geometry, home, cell)};
  }

  /// Returns: the header of the slab around a cell of no short slab, computed from its address alone.
  [[nodiscard]] static ASHLAR_INLINE slab* slab_around(const slab_geometry& geometry, void* cell) noexcept {
    return static_cast<slab*>(static_cast<void*>(geometry.header_of(geometry.slab_of(cell))));
  }

  /// Returns: the index of a cell of the short slab.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t index_in_short(const slab_geometry& geometry,
                                                           const void* cell) const noexcept {
    return geometry.index_of(address_of(cell) - address_of(short_slab()->cells));
  }

  /// Returns: the index of the cell at `p` in the slab `home`.
  [[nodiscard]] static ASHLAR_INLINE std::uint32_t index_in(const slab_geometry& geometry, slab* home,
                                                            const void* p) noexcept {
    return geometry.index_of(static_cast<std::size_t>(static_cast<const std::byte*>(p) - geometry.cells_of(home)));
  }

  /// Returns: a cell, to be returned to its word with others that are added.
  [[nodiscard]] ASHLAR_INLINE gathered_cells<slab> gather(const slab_geometry& geometry, void* cell) const noexcept {
    const auto [home, index] = locate(geometry, cell);
    const std::uint32_t word = index / 64;
    const std::size_t stride = geometry.cell_stride(), cells = detail::min<std::size_t>(64, home->capacity - word * 64);
    return {home,
            word,
            static_cast<std::uint32_t>(cells * stride),
            geometry.by_cell(),
            {home->cells + std::size_t{word} * 64 * stride, bit_of(index)}};
  }

  /// Returns: the only slab in the map that may contain `p`, or null. `p` is not read.
  [[nodiscard]] ASHLAR_INLINE slab* find_remembered(const slab_geometry& geometry, const void* p) const noexcept {
    return map_ ? map_->at(geometry.slab_number(p)) : nullptr;
  }

  /// Effects: enters a held slab in the map, unless it has had runs, since frees to it need all checks.
  void remember(const slab_geometry& geometry, slab* held) noexcept {
    if (map_ && held->runs.needs_memory()) map_->remember(held, geometry.slab_number(held));
  }

  /// Effects: removes a slab from the map.
  void forget(const slab* held) noexcept {
    if (map_) map_->forget(held);
  }

  /// Returns: the slab whose memory contains `p`, or null. Complexity: expected O(log slabs). Reads headers only.
  [[nodiscard]] slab* find(const slab_geometry& geometry, const void* p) const noexcept {
    slab* const below = all_.find_at_or_below(p);
    if (below == nullptr || p < below->cells) return nullptr;
    return address_of(p) - address_of(below->cells) < below->capacity * geometry.cell_stride() ? below : nullptr;
  }

  /// Effects: calls `f(slab&)` in ascending addresses.
  template <class F>
  void for_each(F f) const {
    all_.for_each(f);
  }

  /// Effects: orders the slabs by address: the lowest cells leave first. Complexity: O(slabs).
  void sort() noexcept {
    clear_lanes();
    empty_ = {};
    for_runs_ = nullptr;
    empty_slabs_ = 0;
    if (quarantine_) quarantine_->clear();
    all_.for_each([this](slab& each) {
      each.next = 0;
      if (each.free == 0) return mark_full(each);
      each.child = each.sibling = each.previous = nullptr;
      put_on(each.free == each.capacity && &each != short_slab() ? empty_bin : first_bin, &each);
      each.turn = last_turn(&each);  // stays in order until it is empty
    });
  }

  /// Effects: forgets all slabs.
  void clear() noexcept {
    clear_lanes();
    lane_bins* const others = other_lanes_;
    this->~slab_set();
    ::new (static_cast<void*>(this)) slab_set;
    other_lanes_ = others;
  }

  /// Complexity: O(slabs and their bitmap words).
  [[nodiscard]] bool invariant() const noexcept {
    slab_set sum;
    std::array<std::array<std::size_t, bins>, lanes> filed{};
    std::size_t in_empty_bin = 0;
    bool good = all_.invariant();
    all_.for_each([&](const slab& each) {
      good = good && each.invariant() && each.lane < lane_count() && is_filed_right(each);
      sum.capacity_ += each.capacity;
      sum.taken_ += each.capacity - each.free;
      sum.slabs_ += 1;
      if (each.bin == empty_bin) ++in_empty_bin;
      else if (each.bin != no_bin) ++filed[each.lane][each.bin];
    });
    for (std::uint32_t lane = 0; lane < lane_count(); ++lane)
      for (std::uint32_t bin = 0; bin < empty_bin; ++bin)
        good = good && lane_at(lane).bins[bin].invariant() && lane_at(lane).bins[bin].size() == filed[lane][bin];
    return good && empty_.invariant() && empty_.size() == in_empty_bin && in_empty_bin == empty_slabs_ &&
           sum.capacity_ == capacity_ && sum.taken_ == taken_ && sum.slabs_ == slabs_;
  }

private:
  static constexpr std::uint32_t first_bin = 1;
  static constexpr std::uint32_t emptiest_bin = 4;
  static constexpr std::uint32_t bins = 6;
  static constexpr std::uint32_t no_bin = bins;
  static constexpr std::size_t most_run_words = 8;

  [[nodiscard]] std::uint32_t lane_count() const noexcept { return other_lanes_ != nullptr ? lanes : 1; }
  [[nodiscard]] ASHLAR_INLINE lane_bins& lane_at(std::uint32_t lane) noexcept {
    return lane == 0 ? lane_0_ : other_lanes_[lane - 1];
  }
  [[nodiscard]] const lane_bins& lane_at(std::uint32_t lane) const noexcept {
    return lane == 0 ? lane_0_ : other_lanes_[lane - 1];
  }
  void clear_lanes() noexcept {
    for (std::uint32_t lane = 0; lane < lane_count(); ++lane) lane_at(lane) = {};
  }

  [[nodiscard]] address_heap<slab>& bin_at(std::uint32_t lane, std::uint32_t bin) noexcept {
    return bin == empty_bin ? empty_ : lane_at(lane).bins[bin];
  }

  // Returns: the largest number of free cells of a slab of `capacity` in a bin below the emptiest.
  [[nodiscard]] static constexpr std::uint32_t most_on(std::uint32_t bin, std::uint32_t capacity) noexcept {
    return capacity >> (emptiest_bin - bin);
  }

  // Expects: the slab has a free cell.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t bin_of(const slab* filed) const noexcept {
    if (filed->free == filed->capacity && filed != short_slab()) return empty_bin;
    std::uint32_t bin = 0;
    while (bin < emptiest_bin && filed->free > most_on(bin, filed->capacity)) ++bin;
    return bin;
  }

  // Expects: the slab has a free cell.
  ASHLAR_NOINLINE void file(slab* filed) noexcept { put_on(bin_of(filed), filed); }

  ASHLAR_INLINE void put_on(std::uint32_t bin, slab* filed) noexcept {
    bin_at(filed->lane, bin).push(filed);
    filed->bin = bin;
    filed->turn = bin < emptiest_bin ? most_on(bin, filed->capacity) + 1 : last_turn(filed);
    empty_slabs_ += bin == empty_bin ? 1 : 0;
  }

  // A slab is filed again when it is empty; the short one never.
  [[nodiscard]] std::uint32_t last_turn(const slab* filed) const noexcept {
    return filed->capacity + (filed == short_slab() ? 1 : 0);
  }

  ASHLAR_NOINLINE void take_off(slab* filed) noexcept {
    bin_at(filed->lane, filed->bin).erase(filed);
    empty_slabs_ -= filed->bin == empty_bin ? 1 : 0;
    filed->bin = no_bin;
  }

  // Puts a slab in use by `lane`; it is filed again only when it is empty.
  [[nodiscard]] slab* open(slab* opened, std::uint32_t lane) noexcept {
    take_off(opened);
    opened->lane = lane;
    opened->turn = last_turn(opened);
    return opened;
  }

  // Expects: a cell is free.
  [[nodiscard]] ASHLAR_COLD slab* open_for_words(std::uint32_t lane) noexcept {
    for (const std::uint32_t bin : {first_bin, std::uint32_t{2}, std::uint32_t{3}, emptiest_bin, std::uint32_t{0}})
      if (!bin_at(lane, bin).empty()) return open(bin_at(lane, bin).top(), lane);
    if (for_runs_ != nullptr) return take_over(for_runs_, lane);
    return empty_slabs_ != 0 ? open(empty_.top(), lane) : open_of_others(lane);
  }

  // Expects: another lane has a free cell. The emptiest slabs come first: they share few cache lines with the other
  // lane.
  [[nodiscard]] ASHLAR_INLINE slab* open_of_others(std::uint32_t lane) noexcept {
    for (std::uint32_t bin = empty_bin; bin-- != 0;)
      for (std::uint32_t other = 0; other < lane_count(); ++other)
        if (!bin_at(other, bin).empty()) return open(bin_at(other, bin).top(), lane);
    std::uint32_t other = 0;
    while (lane_at(other).for_words == nullptr) ++other;
    return take_over(lane_at(other).for_words, lane);
  }

  // Takes over a slab that is already in use.
  [[nodiscard]] static slab* take_over(slab*& used, std::uint32_t lane) noexcept {
    slab* const taken = std::exchange(used, nullptr);
    taken->lane = lane;
    return taken;
  }

  // Returns: null if no slab is likely to have a run.
  [[nodiscard]] ASHLAR_COLD slab* open_for_runs(bool only_empty) noexcept {
    address_heap<slab>& emptiest = bin_at(0, emptiest_bin);
    if (!only_empty && !emptiest.empty()) return open(emptiest.top(), 0);
    return empty_slabs_ != 0 ? open(empty_.top(), 0) : nullptr;
  }

  // Ends the use of a slab.
  void close(slab*& used) noexcept {
    slab* const closed = std::exchange(used, nullptr);
    if (closed->free == 0) mark_full(*closed);
    else file(closed);
  }

  // A slab without free cells; the first freed cell files it again.
  static void mark_full(slab& full) noexcept {
    full.bin = no_bin;
    full.turn = 1;
  }

  [[nodiscard]] ASHLAR_INLINE cell_batch leave(const slab_geometry& geometry, slab* from,
                                               const slab::taken& got) noexcept {
    taken_ += count_bits(got.mask);
    return {from->cells + std::size_t{got.word} * 64 * geometry.cell_stride(), got.mask};
  }

  [[nodiscard]] bool is_filed_right(const slab& each) const noexcept {
    if (each.bin == empty_bin) return each.free == each.capacity;
    const bool in_use = &each == lane_at(each.lane).for_words || &each == for_runs_;
    const bool in_no_bin = in_use || each.free == 0;
    return (each.bin == no_bin) == in_no_bin && each.free < each.turn && each.turn <= last_turn(&each);
  }

  lane_bins lane_0_;
  lane_bins* other_lanes_ = nullptr;  // lane 1 and those above
  address_heap<slab> empty_;
  slab* for_runs_ = nullptr;
  atomic<slab*> short_ = nullptr;
  address_tree<slab> all_;
  ASHLAR_NO_UNIQUE_ADDRESS if_checked<slab_map> map_;  // frees are looked up
  ASHLAR_NO_UNIQUE_ADDRESS if_hardened<quarantine> quarantine_;
  std::size_t taken_ = 0;
  std::size_t capacity_ = 0;
  std::size_t slabs_ = 0;
  std::size_t empty_slabs_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
