// Keys that lapse, and keys that remember.
#include <chrono>
#include <iostream>

#include "lapse/store.h"

using namespace std::chrono_literals;

lapse::Status greet() {
  auto store = lapse::Store::open("first.db");
  if (!store.ok()) return store.status();  // every call says what went wrong, in words

  if (auto put = store->put("session:42", "ada", 30min); !put.ok()) return put;  // gone in half an hour
  auto who = store->get("session:42");
  if (!who.ok()) return who.status();
  std::cout << who->value_or("nobody") << " is logged in\n";  // absence is an answer, not an error

  auto mine = store->put_if_absent("lease", "worker-7", 10s);  // one of many gets it, for ten seconds
  if (!mine.ok()) return mine.status();

  auto docs = store->family_or_create("docs", {.history = lapse::HistoryPolicy{.keep_last = 10}});
  if (!docs.ok()) return docs.status();
  lapse::Status both = store->update([&](lapse::Transaction& t) -> lapse::Status {  // both or neither
    if (auto put = t.in(*docs).put("motto", "everything flows"); !put.ok()) return put;
    return t.put("visited", "yes");
  });
  if (!both.ok()) return both;

  auto past = docs->history("motto");  // every value it had, newest first, with dates
  if (!past.ok()) return past.status();
  for (const lapse::Revision& revision : *past)
    std::cout << "commit " << revision.revision << ": " << revision.value << "\n";
  return store->close();
}

int main() {
  const lapse::Status status = greet();
  if (!status.ok()) std::cerr << status.to_string() << "\n";
  return status.ok() ? 0 : 1;
}
