// Databases: the families of a store, by the numbers that clients select.
//
//   0          the default family: what a program that embeds the store has there, clients see in database 0
//   1 … n-1    the families "db1" … "db15"; they keep a count, so that DBSIZE costs nothing
//   n …        the other families, which are selected by their names
//
// The number of a family that has been dropped is given to another, but not while a session has it selected: that one must
// go on being told that its family is gone.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lapse/store.h"

namespace lapse::server {

class Databases {
 public:
  // Makes the numbered ones that are not there, and finds the others.
  static Result<Databases> open(Store* store, int numbered);

  int numbered() const { return numbered_; }
  int size() const { return static_cast<int>(families_.size()); }
  // REQUIRES: 0 <= db < size()
  const Family& family(int db) const { return *families_[static_cast<size_t>(db)].handle; }
  const std::string& family_name(int db) const { return families_[static_cast<size_t>(db)].name; }
  // Whether its family keeps history; in doubt, yes.
  bool keeps_history(int db) const { return families_[static_cast<size_t>(db)].history; }
  void set_history(int db, bool history) { families_[static_cast<size_t>(db)].history = history; }
  // "0" … "15", or the family's name: as it is called in INFO and in the channels of notifications.
  std::string label(int db) const;

  // By number, or by the name of a family that `open` finds. kNotFound: there is none.
  using OpenFamily = std::function<Result<Family>(std::string_view name)>;
  // Whether a session has it selected. Without it, numbers are not given away.
  using IsSelected = std::function<bool(int db)>;
  void set_is_selected(IsSelected is_selected) { is_selected_ = std::move(is_selected); }
  Result<int> find(std::string_view number_or_name, const OpenFamily& open);

 private:
  struct Known {
    std::string name;
    std::optional<Family> handle;
    bool history = true;
  };
  Databases(Store* store, int numbered) : store_(store), numbered_(numbered) {}
  std::optional<int> find_free(const OpenFamily& open) const;

  Store* store_;
  int numbered_;
  IsSelected is_selected_;
  std::vector<Known> families_;
};

}  // namespace lapse::server
