#include "cli/serve.h"

#include <csignal>
#include <iomanip>
#include <iostream>
#include <string>

#include "server/config.h"
#include "server/network.h"
#include "server/server.h"

namespace lapse::cli {

namespace {

int fail(const Status& status, int code) {
  std::cerr << "lapse: " << status.message() << "\n";
  return code;
}

int help() {
  std::cout << "lapse serve [FILE] [--config PATH] [--setting value …]\n\n"
               "Serves the store in FILE (lapse.db; \"\": in memory) to Redis clients. Settings, here and in "
               "the config\n"
               "file, with their defaults; those with a star can be changed by CONFIG SET while it runs:\n\n";
  const server::Config defaults;
  for (const server::Setting& setting : server::settings()) {
    if (setting.get == nullptr) continue;
    const std::string name = std::string(setting.name) + (setting.changeable ? " *" : "");
    const std::string value = setting.get(defaults);
    std::cout << "  --" << std::left << std::setw(30) << name << setting.summary
              << (value.empty() ? "" : " [" + value + "]") << "\n";
  }
  return 0;
}

// Neither a reader of our output that has gone, nor a terminal, ends the server; nor a limit on the size of files, which is
// an error like a full disk.
void ignore_harmless_signals() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
}

// Before any thread is started, so that all of them leave these signals to the loop.
void leave_signals_to_the_loop() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

int serve(std::span<const std::string_view> arguments) {
  for (const std::string_view argument : arguments) {
    if (argument == "--help") return help();
  }
  const Result<server::Config> config = server::read_command_line(arguments);
  if (!config.ok()) return fail(config.status(), 2);
  for (const std::string& warning : config->warnings) std::cerr << "lapse: " << warning << "\n";
  ignore_harmless_signals();
  leave_signals_to_the_loop();
  auto opened = server::Server::open(*config);
  if (!opened.ok()) return fail(opened.status(), 1);
  auto network = server::Network::listen(opened->get());
  if (!network.ok()) return fail(network.status(), 1);

  std::cout << "Serving " << (config->file.empty() ? "a store in memory" : config->file) << " on";
  for (const std::string& address : (*network)->addresses()) std::cout << " " << address;
  std::cout << std::endl;
  const Status status = (*network)->run();
  if (!status.ok()) return fail(status, 1);
  std::cout << "Closed." << std::endl;
  return 0;
}

}  // namespace lapse::cli
