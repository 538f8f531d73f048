#include "bench/report.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace lapse::bench {
namespace {

constexpr size_t kTitleWidth = 38;
constexpr size_t kCellWidth = 17;

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Three digits that count.
std::string digits(double value) {
  if (value < 10) return formatted("%.2f", value);
  return formatted(value < 100 ? "%.1f" : "%.0f", value);
}

std::string left(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string right(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double over_rounds(const std::vector<double>& values, Over over) {
  return over == Over::kMedian ? median(values) : *std::max_element(values.begin(), values.end());
}

}  // namespace

std::string with_unit(double value, Unit unit) {
  switch (unit) {
    case Unit::kOpsPerSecond:
      if (value >= 1e6) return digits(value / 1e6) + " M/s";
      return value >= 1e3 ? digits(value / 1e3) + " k/s" : digits(value) + " /s";
    case Unit::kMicroseconds: return value >= 1e3 ? digits(value / 1e3) + " ms" : digits(value) + " us";
    case Unit::kMilliseconds: return digits(value) + " ms";
    case Unit::kMegabytes: return digits(value) + " MB";
    case Unit::kBytes: return digits(value) + " B";
  }
  return {};
}

void Report::record(const Row& row, const std::string& store, double value, bool stopped_early) {
  auto known = std::find_if(rows_.begin(), rows_.end(),
                            [&row](const RowOfCells& other) { return other.row.name == row.name; });
  if (known == rows_.end()) known = rows_.insert(known, RowOfCells{row, {}});
  Cell& cell = known->cells[store];
  cell.rounds.push_back(value);
  cell.stopped_early |= stopped_early;
}

const Report::RowOfCells* Report::find(std::string_view workload) const {
  for (const RowOfCells& row : rows_) {
    if (row.row.name == workload) return &row;
  }
  return nullptr;
}

std::optional<double> Report::figure(std::string_view workload, std::string_view store) const {
  const RowOfCells* row = find(workload);
  if (row == nullptr) return std::nullopt;
  const auto cell = row->cells.find(store);
  if (cell == row->cells.end()) return std::nullopt;
  return over_rounds(cell->second.rounds, row->row.rounds);
}

std::string Report::cell_text(const RowOfCells& row, const std::string& store) const {
  const std::optional<double> value = figure(row.row.name, store);
  if (!value) return "-";
  std::string text = with_unit(*value, row.row.unit);
  if (row.cells.at(store).stopped_early) text += "*";
  const std::optional<double> base = figure(row.row.name, baseline_);
  if (base && store != baseline_) text += right(digits(*base / *value) + "x", 7);
  return text;
}

void Report::print_table(std::ostream& out) const {
  out << left("", kTitleWidth);
  for (const std::string& store : stores_) out << right(store, kCellWidth);
  out << "\n";
  for (const RowOfCells& row : rows_) {
    out << left(row.row.title, kTitleWidth);
    for (const std::string& store : stores_) out << right(cell_text(row, store), kCellWidth);
    out << "\n";
  }
  out << "\nN x: " << baseline_ << " divided by that store. Of operations a second, more is better; "
      << "of time and space, less.\n*: stopped when its time was up, before all its operations.\n";
}

std::string Report::aim_verdict(const Aim& aim) const {
  const bool absolute = aim.other_workload.empty();
  const std::optional<double> value = figure(aim.workload, aim.store);
  const std::optional<double> other = absolute ? 1.0 : figure(aim.other_workload, aim.other_store);
  if (!value || !other) return "not measured";
  const double ratio = *value / *other;
  const bool met = aim.at_least ? ratio >= aim.bound : ratio <= aim.bound;
  const std::string got = absolute ? with_unit(*value, find(aim.workload)->row.unit) : digits(ratio) + " x";
  return (met ? "met:    " : "MISSED: ") + got;
}

void Report::print_aims(std::ostream& out, const std::vector<Aim>& aims) const {
  for (const Aim& aim : aims) {
    out << "  " << left(std::string(aim.text), 62) << aim_verdict(aim) << "\n";
  }
}

void Report::print_json(std::ostream& out) const {
  const char* row_separator = "{\n";
  for (const RowOfCells& row : rows_) {
    out << row_separator << "  \"" << row.row.name << "\": {";
    row_separator = ",\n";
    const char* separator = "";
    for (const std::string& store : stores_) {
      const std::optional<double> value = figure(row.row.name, store);
      if (!value) continue;
      out << separator << "\"" << store << "\": " << formatted("%.3f", *value);
      separator = ", ";
    }
    out << "}";
  }
  out << (rows_.empty() ? "{}\n" : "\n}\n");
}

}  // namespace lapse::bench
