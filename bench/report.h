// Figures by workload and store, gathered over rounds; printed as a table with ratios, as a list of
// aims with met or missed, and as JSON.

#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapse::bench {

enum class Unit { kOpsPerSecond, kMicroseconds, kMilliseconds, kMegabytes, kBytes };

enum class Over { kMedian, kMaximum };  // how the rounds become one figure

struct Row {
  std::string name;   // the JSON's key
  std::string title;  // the table's
  Unit unit = Unit::kOpsPerSecond;
  Over rounds = Over::kMedian;
};

// `workload` of `store` is to be at least (or at most) `bound` times `other_workload` of
// `other_store`; with no other, `bound` in the row's own unit.
struct Aim {
  std::string_view text;
  std::string_view workload;
  bool at_least;
  double bound;
  std::string_view other_workload;
  std::string_view other_store;
  std::string_view store = "lapse";
};

class Report {
 public:
  // `stores` are the columns; ratios are taken of `baseline`, if it is one of them.
  Report(std::vector<std::string> stores, std::string baseline)
      : stores_(std::move(stores)), baseline_(std::move(baseline)) {}

  // One round's figure. A store that was stopped before it did all its operations is marked.
  void record(const Row& row, const std::string& store, double value, bool stopped_early = false);

  // The figure of all rounds so far; nothing if the store did not run this workload.
  std::optional<double> figure(std::string_view workload, std::string_view store) const;

  void print_table(std::ostream& out) const;
  void print_aims(std::ostream& out, const std::vector<Aim>& aims) const;
  void print_json(std::ostream& out) const;

 private:
  struct Cell {
    std::vector<double> rounds;
    bool stopped_early = false;
  };
  struct RowOfCells {
    Row row;
    std::map<std::string, Cell, std::less<>> cells;
  };

  const RowOfCells* find(std::string_view workload) const;
  std::string cell_text(const RowOfCells& row, const std::string& store) const;
  std::string aim_verdict(const Aim& aim) const;

  std::vector<std::string> stores_;
  std::string baseline_;
  std::vector<RowOfCells> rows_;  // in the order of their first figure
};

// "1.23 M/s", "48.1 us", "0.31 ms", "165 MB", "42.0 B".
std::string with_unit(double value, Unit unit);

}  // namespace lapse::bench
