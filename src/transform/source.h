// Source: the checkpoint that is converted, opened exactly as `run` opens a model: its parts under
// the architecture's names, the format of each, and what lies beside them. Nothing is decoded until
// a part is loaded.
#pragma once

#include <string>
#include <vector>

#include "model/load_part.h"
#include "model/open_model.h"

namespace trilith::transform {

struct Source {
  checkpoint::Checkpoint checkpoint;
  model::ModelSpec spec;
  model::FormatSheet sheet;
  model::SheetOrigin origin = model::SheetOrigin::kAnnounced;
  std::vector<model::PartSource> parts;  // in execution order
  // Tensors of the source's packing that its decoding does not need (indices, shapes, states).
  std::vector<std::string> of_packing;
  // Tensors that belong to no part; carried over as they are.
  std::vector<std::string> others;

  std::string gguf_architecture;  // empty: no GGUF file

  Source() = default;
  Source(Source&&) = default;
  Source& operator=(Source&&) = default;
  Source(const Source&) = delete;  // parts point into checkpoint and sheet
  Source& operator=(const Source&) = delete;

  // The format of the packed linears, for people: "hf-bitnet", a description, or "dense".
  std::string format() const;
};

// The order in which a part's stored rows make up the model's, where it is another (rope_rows.h);
// else empty.
std::vector<int64_t> rows_of_model(const Source& source, const model::PartSource& part);

// A GGUF file, which `run` does not take, is opened by the types and names in its header, held
// against the bytes.
Result<Source> open_source(const std::string& path, const model::OpenOptions& options);

}  // namespace trilith::transform
