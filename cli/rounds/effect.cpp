// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resamples with a generator of its own seed, so that a printed seed repeats an interval.
#include "cli/rounds/effect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <ashlar/base/event.hpp>

namespace ashlar::cli {

namespace {

constexpr std::size_t resamples = 2000;
constexpr double normal_80 = 0.841621;  // quantile of the normal distribution

double standard_error(double deviation, std::size_t n) { return deviation / std::sqrt(static_cast<double>(n)); }

/// Returns: the z with P(|N| > z) = error, by bisection.
double normal_quantile(double error) {
  double low = 0, high = 40;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > error ? low : high) = middle;
  }
  return low;
}

/// Returns: P(|T| <= t) for t = sqrt(freedom) tan(angle), a sum of freedom / 2 terms (Abramowitz and Stegun 26.7.3 and
/// 4).
double student_share(double angle, int freedom) {
  const double cosine = std::cos(angle), quarter = std::acos(0.0);
  const bool is_odd = freedom % 2 != 0;
  double term = is_odd ? cosine : 1, sum = freedom == 1 ? 0 : term;
  for (int k = is_odd ? 3 : 2; k < freedom; k += 2) sum += term *= cosine * cosine * (k - 1) / k;
  const double series = std::sin(angle) * sum;
  return is_odd ? (angle + series) / quarter : series;
}

/// Returns: the share of resamples to cut off at each end for this quantile of Student's T. The percentile interval is
/// too narrow by sqrt((n - 1) / n) and by the difference of t to z; a smaller share makes up for both.
double cut_share(double t, double n) { return std::erfc(t * std::sqrt(n / (n - 1) / 2)) / 2; }

double resampled_mean(const std::vector<double>& values, random_engine& random) {
  const double* const from = values.data();
  const std::size_t n = values.size();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += from[draw_below(random, n)];
  return sum / static_cast<double>(n);
}

double flipped_mean(const std::vector<double>& values, random_engine& random) {
  double sum = 0;
  std::uint64_t signs = 0;
  std::size_t flipped = 0;
  for (const double v : values) {
    if (flipped++ % 64 == 0) signs = random();
    sum += (signs & 1) != 0 ? v : -v;
    signs >>= 1;
  }
  return sum / static_cast<double>(values.size());
}

/// Returns: the share of all 2^n assignments of signs whose mean is at least as far from 0.
double exact_chance(const std::vector<double>& values, double found) {
  const std::size_t all = std::size_t{1} << values.size();
  std::size_t as_far = 0;
  for (std::size_t signs = 0; signs < all; ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += (signs >> i & 1) != 0 ? values[i] : -values[i];
    as_far += std::abs(sum / static_cast<double>(values.size())) >= found ? 1U : 0U;
  }
  return static_cast<double>(as_far) / static_cast<double>(all);
}

/// Of many pairs a sample of the flips, in which the observed assignment counts as one, so that the chance is never 0.
/// Many questions that share an error need more of them, for a chance below half of the error of each.
double chance_of(const std::vector<double>& values, double error, random_engine& random) {
  constexpr std::size_t most_exact = 14;  // 16,384 assignments
  const double found = std::abs(mean_of(values)) * (1 - 1e-12);
  if (values.size() <= most_exact) return exact_chance(values, found);
  const std::size_t flips = std::max(resamples, static_cast<std::size_t>(10 / error));
  std::size_t as_far = 1;
  for (std::size_t i = 0; i < flips; ++i) as_far += std::abs(flipped_mean(values, random)) >= found ? 1U : 0U;
  return static_cast<double>(as_far) / static_cast<double>(flips + 1);
}

/// Returns: the pairs that bring `quantiles` deviations of the mean below `distance`.
double pairs_for(double quantiles, double deviation, double distance) {
  if (deviation == 0) return 0;
  if (distance <= 0) return static_cast<double>(most_rounds) + 1;
  const double root = quantiles * deviation / distance;
  return std::min(std::ceil(root * root), static_cast<double>(most_rounds) + 1);
}

}  // namespace

finding verdict_of(const mean_interval& log_ratio, double bound) noexcept {
  const double most = std::log1p(bound);
  if (log_ratio.least > -most && log_ratio.greatest < most) return finding::level;
  if (log_ratio.greatest < 0) return finding::gain;
  return log_ratio.least > 0 ? finding::loss : finding::undecided;
}

finding verdict_of(const paired_effect& effect, double bound) {
  if (!effect.could_tell()) return finding::undecided;
  const finding found = verdict_of(effect.log_ratio, bound);
  const bool is_by_order = effect.chance > effect.error / 2;
  return is_by_order && found != finding::level ? finding::undecided : found;
}

const char* verdict_word(finding verdict) noexcept {
  constexpr detail::enum_table<finding, const char*> words = {"undecided", "level", "gain", "loss"};
  return words[verdict];
}

finding verdict_named(std::string_view word) noexcept {
  for (const finding f : {finding::level, finding::gain, finding::loss})
    if (word == verdict_word(f)) return f;
  return finding::undecided;
}

double student_quantile(double error, double freedom) {
  const double quarter = std::acos(0.0);
  double low = 0, high = quarter;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (1 - student_share(middle, static_cast<int>(freedom)) > error ? low : high) = middle;
  }
  return std::sqrt(freedom) * std::tan(low);
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::vector<double> log_ratios(const std::vector<double>& a, const std::vector<double>& b, const measure_scale& scale) {
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::abs(b[i] - a[i]) >= scale.step)
      ratios[i] = std::log(std::max(b[i], scale.floor) / std::max(a[i], scale.floor));
  return ratios;
}

mean_interval interval_of_mean(const std::vector<double>& values, double error, random_engine& random) {
  const std::size_t n = values.size();
  const double t = student_quantile(error, static_cast<double>(n - 1));
  std::vector<double> means(resamples);
  for (double& m : means) m = resampled_mean(values, random);
  std::sort(means.begin(), means.end());
  const auto cut = static_cast<std::size_t>(cut_share(t, static_cast<double>(n)) * static_cast<double>(resamples));
  const double mean = mean_of(values), width = t * standard_error(deviation_of(values), n);
  return {mean, std::min(means[cut], mean - width), std::max(means[resamples - 1 - cut], mean + width)};
}

double paired_effect::detectable() const {
  if (pairs < 2) return 0;
  const auto freedom = static_cast<double>(pairs - 1);
  constexpr double one_sided_80 = 0.4;  // a fifth at each end
  return std::expm1((student_quantile(error, freedom) + student_quantile(one_sided_80, freedom)) *
                    standard_error(deviation, pairs));
}

bool paired_effect::could_tell() const { return pairs >= pairs_for_difference(error); }

paired_effect effect_of(const std::vector<double>& log_ratios, double error, random_engine& random) {
  paired_effect effect;
  effect.pairs = log_ratios.size();
  effect.error = error;
  if (log_ratios.size() == 1) effect.log_ratio = {log_ratios[0], log_ratios[0], log_ratios[0]};
  if (log_ratios.size() < 2) return effect;
  effect.deviation = deviation_of(log_ratios);
  effect.log_ratio = interval_of_mean(log_ratios, error, random);
  effect.chance = chance_of(log_ratios, error, random);
  return effect;
}

comparison compare(const std::vector<double>& a, const std::vector<double>& b, const measure_scale& scale, double error,
                   random_engine& random) {
  const auto geometric_mean = [&scale](const std::vector<double>& values) {
    std::vector<double> logs;
    for (const double v : values) logs.push_back(std::log(std::max(v, scale.floor)));
    return std::exp(mean_of(logs));
  };
  comparison result{geometric_mean(a), geometric_mean(b), effect_of(log_ratios(a, b, scale), error, random), {}};
  result.found = verdict_of(result.effect, scale.threshold);
  return result;
}

std::size_t pairs_for_difference(double error) {
  std::size_t n = 2;
  while (std::ldexp(2.0, -static_cast<int>(n)) > error / 2) ++n;
  return n;
}

std::size_t pairs_that_meet(double share) { return static_cast<std::size_t>(std::ceil(3 / share - 1e-9)); }

std::size_t planned_pairs(double deviation, std::size_t pilot, double threshold, double error) {
  const auto freedom = static_cast<double>(pilot - 1);
  const double quantiles = student_quantile(error, freedom) + student_quantile(0.2, freedom);
  const double pairs = pairs_for(quantiles, deviation, std::log1p(threshold));
  return std::clamp(static_cast<std::size_t>(pairs), least_pairs, most_rounds);
}

std::size_t pairs_to_decide(const paired_effect& effect, double threshold) {
  const double away = std::abs(effect.log_ratio.mean), bound = std::log1p(threshold);
  const double to_differ = pairs_for(normal_quantile(effect.error / 2) + normal_80, effect.deviation, away);
  const double to_be_level = pairs_for(normal_quantile(effect.error) + normal_80, effect.deviation, bound - away);
  return std::max({static_cast<std::size_t>(std::min(to_differ, to_be_level)), effect.pairs + 1, least_pairs});
}

namespace {

constexpr double least_deviations = 6;
constexpr double least_gap = 0.4;
constexpr double least_share = 0.15;
constexpr std::size_t least_runs = 3;

struct split {
  std::size_t low_runs = 0;
  double low = 0;  ///< Centres, in logarithms.
  double high = 0;
  double squares = std::numeric_limits<double>::infinity();  ///< Of the distances to the centres.
};

/// Sums of the first values, from which a group's variance follows.
class running_sums {
public:
  explicit running_sums(const std::vector<double>& values) : sums_{0}, squares_{0} {
    for (const double v : values) {
      sums_.push_back(sums_.back() + v);
      squares_.push_back(squares_.back() + v * v);
    }
  }

  [[nodiscard]] double centre(std::size_t from, std::size_t to) const {
    return (sums_[to] - sums_[from]) / static_cast<double>(to - from);
  }
  [[nodiscard]] double squares(std::size_t from, std::size_t to) const {
    const double c = centre(from, to);
    return std::max(0.0, squares_[to] - squares_[from] - static_cast<double>(to - from) * c * c);
  }

private:
  std::vector<double> sums_;
  std::vector<double> squares_;
};

split best_split(const std::vector<double>& sorted) {
  const running_sums sums(sorted);
  const std::size_t n = sorted.size();
  split best;
  for (std::size_t k = 1; k < n; ++k) {
    const double squares = sums.squares(0, k) + sums.squares(k, n);
    if (squares < best.squares) best = {k, sums.centre(0, k), sums.centre(k, n), squares};
  }
  return best;
}

bool are_modes(const split& s, const std::vector<double>& sorted) {
  const std::size_t n = sorted.size(), fewer = std::min(s.low_runs, n - s.low_runs);
  const double distance = s.high - s.low;
  const double within = std::sqrt(s.squares / static_cast<double>(n - 2));
  return fewer >= least_runs && static_cast<double>(fewer) >= least_share * static_cast<double>(n) && distance > 1e-9 &&
         distance >= least_deviations * within && sorted[s.low_runs] - sorted[s.low_runs - 1] >= least_gap * distance;
}

}  // namespace

std::optional<two_modes> modes_of(const std::vector<double>& values) {
  if (values.size() < least_runs_for_modes) return std::nullopt;
  std::vector<double> logs;
  for (const double v : values) logs.push_back(std::log(std::max(v, std::numeric_limits<double>::min())));
  std::sort(logs.begin(), logs.end());
  const split best = best_split(logs);
  if (!are_modes(best, logs)) return std::nullopt;
  return two_modes{{std::exp(best.low), best.low_runs}, {std::exp(best.high), logs.size() - best.low_runs}};
}

}  // namespace ashlar::cli
