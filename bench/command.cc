#include "bench/command.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <sstream>

#include "bench/dataset.h"
#include "bench/machine.h"
#include "bench/scratch.h"

namespace lapse::bench {
namespace {

struct CommandOptions {
  Plan plan;
  std::filesystem::path scratch_parent = default_scratch_parent();
  std::string json_path;
};

// The names in "a,b,c", in the order of `known`, which must have them all.
std::vector<std::string> choose(std::string_view list, const std::vector<std::string>& known) {
  std::vector<std::string> wanted;
  std::istringstream stream{std::string(list)};
  for (std::string name; std::getline(stream, name, ',');) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError("there is no " + name);
    }
    wanted.push_back(name);
  }
  std::vector<std::string> chosen;
  std::copy_if(known.begin(), known.end(), std::back_inserter(chosen), [&](const auto& name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  });
  if (chosen.empty()) throw UsageError("an empty list leaves nothing to do");
  return chosen;
}

int positive_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) {
    throw UsageError(std::string(text) + " is not a number above 0");
  }
  return number;
}

void set_option(const Benchmark& benchmark, std::string_view name, std::string_view value,
                CommandOptions* options) {
  if (name == "--rounds") {
    options->plan.rounds = positive_number(value);
  } else if (name == "--stores") {
    options->plan.stores = choose(value, benchmark.stores());
  } else if (name == "--only") {
    options->plan.workloads = choose(value, benchmark.workloads());
  } else if (name == "--json") {
    options->json_path = value;
  } else if (name == "--dir") {
    options->scratch_parent = value;
  } else {
    throw UsageError("there is no option " + std::string(name));
  }
}

CommandOptions parse(const Benchmark& benchmark, const Arguments& arguments) {
  constexpr int kAsTheSizeHasIt = 0;
  CommandOptions options;
  options.plan = {Size::kDefault, kAsTheSizeHasIt, benchmark.stores(), benchmark.workloads(), {}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    if (name == "--quick") {
      options.plan.size = Size::kQuick;
    } else if (name == "--large" && benchmark.facts_of(Size::kLarge)) {
      options.plan.size = Size::kLarge;
    } else if (i + 1 < arguments.size()) {
      set_option(benchmark, name, arguments[++i], &options);
    } else {
      throw UsageError("what about " + std::string(name) + "?");
    }
  }
  if (options.plan.rounds == kAsTheSizeHasIt) {
    options.plan.rounds = benchmark.facts_of(options.plan.size)->rounds;
  }
  return options;
}

void print_header(const Benchmark& benchmark, const Plan& plan) {
  for (const std::string& fact : machine_facts(plan.folder)) std::cout << fact << "\n";
  std::cout << benchmark.facts_of(plan.size)->entries << " entries of " << kKeyBytes << " + " << kValueBytes
            << " bytes, rounds: " << plan.rounds << "\n\n";
  for (const std::string& store : plan.stores) {
    std::cout << store << ": " << benchmark.describe(store) << "\n";
  }
  std::cout << std::endl;
}

void print_results(const Benchmark& benchmark, const CommandOptions& options, const Report& report) {
  std::cout << "\n";
  report.print_table(std::cout);
  std::cout << "\nAims:\n";
  report.print_aims(std::cout, benchmark.aims());
  if (options.json_path.empty()) return;
  std::ofstream json(options.json_path);
  report.print_json(json);
  json.close();
  if (!json) throw std::runtime_error("cannot write " + options.json_path);
}

int run_and_explain_failure(const Benchmark& benchmark, const CommandOptions& options) {
  try {
    print_header(benchmark, options.plan);
    Report report(options.plan.stores, "lapse");
    benchmark.run(options.plan, &report);
    print_results(benchmark, options, report);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "\nlapse-bench: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace

int run_benchmark(const Benchmark& benchmark, const Arguments& arguments) {
  CommandOptions options = parse(benchmark, arguments);
  const ScratchFolder scratch(options.scratch_parent);
  options.plan.folder = scratch.path();
  return run_in_child([&] { return run_and_explain_failure(benchmark, options); });
}

}  // namespace lapse::bench
