// convert: a checkpoint in another format, with every weight unchanged, or an account of what would
// be lost. Two passes over the model, one part in memory at a time: the first decides how each part
// is written and counts losses, and only when there are none does the second write. The output is a
// folder that appears whole or not at all (output_folder.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "transform/recode.h"
#include "transform/source.h"
#include "transform/target.h"

namespace trilith::transform {

struct ConvertRequest {
  std::string input;
  std::string output;
  const Target* target = nullptr;
  int64_t group = 0;  // inputs a scale, where the format leaves it open; 0: as in the source
  uint64_t shard_bytes = uint64_t{5} << 30;  // of a file at most
  bool verify = false;                       // read the output again and compare
  model::OpenOptions open;                   // how the source is opened
};

// Called after every part with the share of the work that is done; false ends it
// (Error of kind kInterrupted, nothing is left behind).
using Progress = std::function<bool(double share)>;

struct ConvertReport {
  std::string from;
  std::string container;
  std::string origin;
  std::string to;
  std::string library;
  int64_t group = 0;
  int64_t packed_modules = 0;
  int64_t dense_parts = 0;
  int64_t weights = 0;  // in packed modules
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  size_t files = 0;
  std::vector<std::string> dropped;  // tensors of the source's packing
  std::vector<std::string> carried;  // tensors that belong to no part
  std::vector<std::string> side_files;
  std::vector<std::string> notes;
  std::vector<Loss> losses;  // not empty: refused, nothing was written
  std::optional<int64_t> verified_weights;

  bool refused() const { return !losses.empty(); }
  Json to_json() const;
  // The losses as one error.
  Error refusal() const;
};

Result<ConvertReport> convert(const ConvertRequest& request, const Progress& progress);

}  // namespace trilith::transform
