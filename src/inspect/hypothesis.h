// The values of the search. A Hypothesis is one reading of a family of modules that are taken to be
// packed alike: a PackingSpec, what speaks for it in nats, and the tests that said so. Plain
// values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/tensor_view.h"
#include "model/roles.h"
#include "packing/spec.h"

namespace trilith::inspect {

// How a field of a sheet is known: the checkpoint says so (and the bytes agree), a test found it,
// or nothing in the file decides and it was taken by convention or by the user's word.
enum class Known { kAnnounced, kInferred, kAssumed };
std::string_view status_name(Known status);

struct Evidence {
  std::string field;  // dotted path in the spec ("law.slot_order"), or "role", "shape", …
  Known status = Known::kInferred;
  std::string test;
  Json value;
  Json numbers;  // an object of figures
};

struct Hypothesis {
  packing::PackingSpec spec;
  double nats = 0;  // sum over the tests, relative to nothing in particular
  std::map<std::string, double> nats_by_test;
  std::optional<double> probe_loss;  // nats a token
  double order_luck = 0;             // nats of alignment that the best of many orders has by chance
  void add(const std::string& test, double value) {
    nats_by_test[test] += value;
    nats += value;
  }
  // What one test adds; 0 when it had nothing to say.
  double nats_of(const std::string& test) const {
    const auto found = nats_by_test.find(test);
    return found == nats_by_test.end() ? 0 : found->second;
  }
};

// A module whose codes have been found, with the tensors that take part in it.
struct PackedModule {
  std::string name;
  std::map<std::string, const TensorView*> stored;  // by codec role: "codes", "codes_1", "scale"
  const TensorView* bias = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  std::optional<model::ModuleId> id;
};

}  // namespace trilith::inspect
