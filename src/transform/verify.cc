#include "transform/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/rope_rows.h"

namespace trilith::transform {
namespace {

Result<std::vector<float>> values_of(const Source& source, const model::PartSource& part,
                                     model::LoadOptions options) {
  options.fingerprints = false;
  TRILITH_ASSIGN_OR_RETURN(const model::LoadedPart loaded,
                           model::load_part(source.checkpoint, part, options));
  const auto* const matrix = std::get_if<packing::QuantMatrix>(&loaded.values);
  std::vector<float> values =
      matrix != nullptr ? matrix->dense() : std::get<model::DenseMatrix>(loaded.values).values;
  const std::vector<int64_t> rows = rows_of_model(source, part);
  return rows.empty() ? values : model::with_rows(values, rows);
}

Error differs(const std::string& output, const std::string& name, std::string expected,
              std::string found) {
  return Error::verification("the converted checkpoint differs from its source")
      .with_file(output)
      .with_tensor(name)
      .with_expected(std::move(expected))
      .with_found(std::move(found));
}

Status compare(const std::string& output, const model::PartSource& part,
               const std::vector<float>& before, const std::vector<float>& after) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    return differs(output, part.name(), fmt::format("{} at index {}", before[i], i),
                   fmt::format("{}", after[i]));
  }
  return {};
}

}  // namespace

Result<int64_t> verify_conversion(const Source& source, const std::string& output,
                                  const model::LoadOptions& options,
                                  const std::function<Status()>& after_part) {
  model::OpenOptions open;
  open.load = options;
  TRILITH_ASSIGN_OR_RETURN(const Source written, open_source(output, open));
  if (written.parts.size() != source.parts.size()) {
    return differs(output, "", fmt::format("{} parts", source.parts.size()),
                   fmt::format("{} parts", written.parts.size()));
  }
  int64_t compared = 0;
  for (size_t i = 0; i < source.parts.size(); ++i) {
    const model::PartSource& part = source.parts[i];
    const model::PartSource& again = written.parts[i];
    if (part.name() != again.name() || part.rows != again.rows || part.cols != again.cols) {
      return differs(output, part.name(), fmt::format("[{}, {}]", part.rows, part.cols),
                     fmt::format("{} [{}, {}]", again.name(), again.rows, again.cols));
    }
    TRILITH_ASSIGN_OR_RETURN(const auto before, values_of(source, part, options));
    TRILITH_ASSIGN_OR_RETURN(const auto after, values_of(written, again, options));
    TRILITH_RETURN_IF_ERROR(compare(output, part, before, after));
    compared += static_cast<int64_t>(before.size());
    TRILITH_RETURN_IF_ERROR(after_part());
  }
  if (!written.gguf_architecture.empty()) return compared;  // holds parts of the model alone
  for (const std::string& name : source.others) {
    const TensorView* const before = source.checkpoint.find(name);
    const TensorView* const after = written.checkpoint.find(name);
    if (after == nullptr || after->dtype != before->dtype || after->shape != before->shape ||
        !std::ranges::equal(before->bytes, after->bytes)) {
      return differs(output, name, "the source's bytes",
                     after == nullptr ? "no such tensor" : "others");
    }
  }
  return compared;
}

}  // namespace trilith::transform
