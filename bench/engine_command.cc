#include "bench/engine_command.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <sstream>

#include "bench/engine_bench.h"
#include "bench/machine.h"
#include "bench/rival.h"
#include "bench/scratch.h"

namespace lapse::bench {
namespace {

struct EngineOptions {
  Scale scale = kDefaultScale;
  int rounds = 0;  // 0: as the scale has it
  std::vector<std::string> stores;
  std::vector<std::string> workloads = engine_workload_names();
  std::filesystem::path scratch_parent = default_scratch_parent();
  std::string json_path;
};

std::vector<std::string> store_names() {
  std::vector<std::string> names;
  for (const RivalEntry& rival : kRivals) names.emplace_back(rival.name);
  return names;
}

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

void set_option(std::string_view name, std::string_view value, EngineOptions* options) {
  if (name == "--rounds") {
    options->rounds = positive_number(value);
  } else if (name == "--stores") {
    options->stores = choose(value, store_names());
  } else if (name == "--only") {
    options->workloads = choose(value, engine_workload_names());
  } else if (name == "--json") {
    options->json_path = value;
  } else if (name == "--dir") {
    options->scratch_parent = value;
  } else {
    throw UsageError("there is no option " + std::string(name));
  }
}

EngineOptions parse(const Arguments& arguments) {
  EngineOptions options;
  options.stores = store_names();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    if (name == "--quick") {
      options.scale = kQuickScale;
    } else if (name == "--large") {
      options.scale = kLargeScale;
    } else if (i + 1 < arguments.size()) {
      set_option(name, arguments[++i], &options);
    } else {
      throw UsageError("what about " + std::string(name) + "?");
    }
  }
  if (options.rounds > 0) options.scale.rounds = options.rounds;
  return options;
}

void print_header(const EngineOptions& options, const std::filesystem::path& folder) {
  for (const std::string& fact : machine_facts(folder)) std::cout << fact << "\n";
  std::cout << options.scale.entries << " entries of " << kKeyBytes << " + " << kValueBytes
            << " bytes, rounds: " << options.scale.rounds << "\n\n";
  for (const std::string& store : options.stores) {
    std::cout << store << ": " << make_rival(store)->describe() << "\n";
  }
  std::cout << std::endl;
}

void print_results(const EngineOptions& options, const Report& report) {
  std::cout << "\n";
  report.print_table(std::cout);
  std::cout << "\nAims:\n";
  report.print_aims(std::cout, engine_aims());
  if (options.json_path.empty()) return;
  std::ofstream json(options.json_path);
  report.print_json(json);
  json.close();
  if (!json) throw std::runtime_error("cannot write " + options.json_path);
}

int run(const EngineOptions& options, const std::filesystem::path& folder) {
  print_header(options, folder);
  Report report(options.stores, "lapse");
  run_engine_workloads({options.scale, options.stores, options.workloads, folder}, &report);
  print_results(options, report);
  return 0;
}

int run_and_explain_failure(const EngineOptions& options, const std::filesystem::path& folder) {
  try {
    return run(options, folder);
  } catch (const std::exception& error) {
    std::cerr << "\nlapse-bench: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace

int run_engine_command(const Arguments& arguments) {
  const EngineOptions options = parse(arguments);
  const ScratchFolder scratch(options.scratch_parent);
  return run_in_child([&] { return run_and_explain_failure(options, scratch.path()); });
}

}  // namespace lapse::bench
