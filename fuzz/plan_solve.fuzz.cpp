// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a problem with every kind of constraint: refused, or planned validly, twice the same, and never below a
// height called optimal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

namespace plan = ashlar::plan;

namespace {

class byte_source {
public:
  byte_source(const std::uint8_t* data, std::size_t size) : data_(data), end_(data + size) {}
  std::uint8_t next() { return data_ == end_ ? std::uint8_t{0} : *data_++; }
  std::uint64_t below(std::uint64_t n) { return next() % n; }

private:
  const std::uint8_t* data_;
  const std::uint8_t* end_;
};

/// Makes sizes large, with a small or a large common divisor.
void scale(plan::problem& p, std::uint64_t shift, std::uint64_t odd) {
  const auto more = [&](std::uint64_t bytes) { return bytes << shift; };
  for (plan::buffer& b : p.buffers) b.size = b.size == 0 ? 0 : more(b.size) + odd;
  for (plan::gap& g : p.gaps) g = {g.buffer, g.begin, g.end, more(g.low), more(g.high)};
  for (plan::pin& q : p.pins) q.offset = more(q.offset);
  for (plan::pool& q : p.pools) q.capacity = more(q.capacity);
}

plan::problem make(byte_source& in) {
  plan::problem p;
  const std::uint64_t count = 1 + in.below(12);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t birth = in.below(16);
    p.buffers.push_back(
        plan::buffer::half_open(i, in.next(), birth, birth + in.below(12), std::uint64_t{1} << in.below(5)));
  }
  const auto any = [&] { return static_cast<plan::position>(in.below(count)); };
  for (std::uint64_t k = in.below(4); k > 0; --k) {
    const std::uint64_t begin = in.below(16), low = in.next();
    p.gaps.push_back({any(), begin, begin + in.below(5), low, low + in.below(64)});
  }
  for (std::uint64_t k = in.below(3); k > 0; --k) p.pins.push_back({any(), in.next()});
  for (std::uint64_t k = in.below(3); k > 0; --k) p.aliases.push_back({any(), any()});
  for (std::uint64_t k = in.below(3); k > 0; --k) p.apart.push_back({any(), any()});
  for (std::uint64_t k = in.below(3); k > 0; --k) p.pools.push_back({in.below(256) * 4});
  for (std::uint64_t k = in.below(3); k > 0; --k) p.pool_masks.push_back({any(), in.next()});
  scale(p, in.below(48), in.below(8));
  return p;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  byte_source in(data, size);
  const plan::problem p = make(in);
  const plan::layout l = plan::solve(p, {.nodes = 300});
  if (l.status == plan::status::rejected || l.offsets.empty()) return 0;
  if (plan::validate(p, l) || (p.pools.empty() && l.height < l.lower_bound)) std::abort();
  if (plan::solve(p, {.nodes = 300}).offsets != l.offsets) std::abort();
  if (!p.pools.empty() || l.height == 0) return 0;
  const plan::layout lower = plan::solve(p, {.nodes = 300, .capacity = l.height - 1});
  if (l.optimal() && (lower.status == plan::status::feasible || lower.height < l.height)) std::abort();
  if (plan::solve(p, {.nodes = 300, .capacity = l.height}).status == plan::status::infeasible) std::abort();
  return 0;
}
