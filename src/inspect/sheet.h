// Sheet: what inspect found out about a checkpoint (trilith.sheet/1), as a value. Holds no paths
// and no timings, so the same bytes always give the same sheet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "base/tensor_view.h"
#include "inspect/grouping.h"
#include "inspect/hypothesis.h"
#include "inspect/zero_blocks.h"

namespace trilith::inspect {

enum class Verdict { kIdentified, kAmbiguous, kRefused };
std::string_view verdict_name(Verdict verdict);

struct Alternative {
  packing::PackingSpec spec;
  std::string differs;  // "code_table = [0,-1,1,null]"
  std::string why;
  bool matters = true;
};

// The first bytes of a module's codes, read by hand.
struct WorkedExample {
  std::vector<uint8_t> bytes;
  std::vector<std::string> fields;    // of each byte, lowest first: "10 01 00 01"
  std::vector<std::string> elements;  // "W[0,0] W[0,1] …" of each byte
  std::vector<std::string> codes;     // of each byte, in the order of `elements`
  std::vector<std::string> levels;
  std::string runner_up;  // what differs in the next reading, empty without one
  std::vector<std::string> runner_up_elements;
  std::vector<std::string> runner_up_levels;
};

struct StoredInfo {
  std::string role;
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t bytes = 0;
};

struct CodeCount {
  int code = 0;
  std::optional<double> level;  // nothing: a code that stands for no weight
  uint64_t count = 0;
};

struct ModuleSheet {
  std::string name;
  std::optional<model::ModuleId> id;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<StoredInfo> stored;
  std::string bias;  // the stored tensor that is added to the output, or empty
  packing::PackingSpec spec;
  std::vector<Evidence> evidence;  // of this module alone: role, shape
  size_t family = 0;
  // What the format does to the linear's input: "none", "dynamic-token", "static", "undecidable".
  std::string activation = "undecidable";
  std::vector<CodeCount> code_counts;  // of every code, those that never occur too
  double zero_share = 0;
  std::optional<std::array<double, 3>> row_zero_share;  // least, median, greatest row
  std::optional<ZeroBlocks> zero_blocks;                // where one code is zero all over
  int64_t unused_count = 0;
  int64_t unused_first = -1;
  std::optional<std::array<double, 3>> scale;  // min, median, max
  WorkedExample example;
};

// One kind of profile pair under the chosen reading (alignment.h).
struct AlignmentLine {
  std::string what;
  int pairs = 0;
  double mean_rho = 0;
  double nats = 0;
};

// Modules that are packed alike.
struct FamilySheet {
  packing::PackingSpec spec;
  std::string description;
  size_t modules = 0;
  std::vector<Evidence> evidence;
  std::vector<AlignmentLine> alignment;  // strongest first
  std::vector<Alternative> alternatives;
};

struct PlainSheet {
  std::string name;
  std::optional<model::ModuleId> id;
  Known id_known = Known::kInferred;
  bool is_bias = false;  // of module `id`
  DType dtype;
  Shape shape;
  double min = 0;
  double max = 0;
  uint64_t distinct = 0;  // exact up to kDistinctLimit
  uint64_t nan = 0;
};

struct ProbeLine {
  std::string reading;  // what is special about it
  double loss = 0;
};
struct ProbeSheet {
  std::string text_kind;  // "built-in" or "given"
  size_t tokens = 0;
  double uniform_loss = 0;
  std::vector<ProbeLine> lines;
  std::string absent_because;  // when there was no probe
};

struct Sheet {
  Verdict verdict = Verdict::kRefused;
  std::string reason;
  std::string container;
  std::string architecture;
  std::string model_type;
  bool announced = false;
  std::string framework;
  std::vector<NameTemplate> templates;
  std::vector<FamilySheet> families;
  std::vector<ModuleSheet> modules;
  std::vector<PlainSheet> plain;
  ProbeSheet probe;
  std::vector<std::string> assumptions;
};

// Of all modules that have any, together; nothing without one.
std::optional<ZeroBlocks> zero_blocks_of(const Sheet& sheet);

Json to_json(const Sheet& sheet);
// A page for people: the essence first, then every family's evidence and the name map.
std::string to_markdown(const Sheet& sheet);
// The same with plots, as one file that needs no network.
std::string to_html(const Sheet& sheet);
// At most 30 lines for the terminal.
std::string summary(const Sheet& sheet);

}  // namespace trilith::inspect
