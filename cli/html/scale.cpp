// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses round marks for axes.
#include "cli/html/scale.hpp"

#include <algorithm>
#include <cmath>

#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

/// Returns: 1, 2 or 5 times a power of ten, at or above `step`.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * 0.999) return factor * power;
  return 10 * power;
}

/// Bytes are round in their unit, the rest in tens.
double unit_of(double most, quantity q) {
  double unit = 1;
  while (q == quantity::bytes && most >= unit * 1024) unit *= 1024;
  return unit;
}

std::string trimmed(std::string text) {
  const std::size_t unit = std::min(text.find(' '), text.size());
  const std::size_t point = text.find('.');
  if (point == text.npos || point > unit) return text;
  std::size_t end = unit;
  while (text[end - 1] == '0') --end;
  if (end - 1 == point) --end;
  return text.erase(end, unit - end);
}

}  // namespace

std::string axis_label(double value, quantity q) {
  if (value == 0) return "0";
  switch (q) {
    case quantity::bytes: return trimmed(human_bytes(value));
    case quantity::time_ns: return trimmed(human_time(value));
    case quantity::count: return trimmed(human_count(value));
    case quantity::ratio: return trimmed(figures3(value));
  }
  return {};
}

scale scale::linear(double most, double from, double to, quantity q, int marks) {
  scale s;
  most = std::max(most, q == quantity::ratio ? 1e-9 : 1.0);
  const double unit = unit_of(most, q);
  double step = round_step(most / unit / marks) * unit;
  if (q == quantity::count || (q == quantity::bytes && unit == 1)) step = std::max(step, 1.0);
  s.most_ = step * std::ceil(most / step - 1e-9);
  s.from_ = from;
  s.to_ = to;
  for (double mark = 0; mark <= s.most_ * 1.0001; mark += step) s.marks_.push_back(mark);
  return s;
}

scale scale::exact(double most, double from, double to, quantity q, int marks) {
  scale s = linear(most, from, to, q, marks);
  s.most_ = std::max(most, 1.0);
  std::erase_if(s.marks_, [&](double mark) { return mark > s.most_; });
  return s;
}

scale scale::logarithmic(double least, double most, double from, double to) {
  scale s;
  s.log_ = true;
  s.least_ = std::pow(10, std::floor(std::log10(std::max(least, 1e-9))));
  s.most_ = std::pow(10, std::ceil(std::log10(std::max(most, s.least_ * 10))));
  s.from_ = from;
  s.to_ = to;
  for (double mark = s.least_; mark <= s.most_ * 1.0001; mark *= 10) s.marks_.push_back(mark);
  return s;
}

double scale::at(double value) const {
  const double share = log_ ? std::log(std::max(value, least_) / least_) / std::log(most_ / least_)
                            : (value - least_) / (most_ - least_);
  return from_ + share * (to_ - from_);
}

}  // namespace ashlar::cli
