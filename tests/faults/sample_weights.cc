#include "sample_weights.h"

#include "base/check.h"
#include "packing/catalogue.h"

namespace trilith::faults {

Result<checkpoint::Checkpoint> open_sample() {
  return checkpoint::Checkpoint::open(std::string(TRILITH_SOURCE_DIR) + "/models/sample");
}

Result<model::FormatSheet> sample_sheet(const checkpoint::Checkpoint& checkpoint) {
  TRILITH_ASSIGN_OR_RETURN(
      const model::ModelSpec spec,
      model::model_spec_from_config(checkpoint.config(), checkpoint.generation_config()));
  const packing::CatalogueRow* row = packing::find_format("k4-low-0pm");
  TRILITH_CHECK(row != nullptr);
  packing::PackingSpec packing = row->spec;
  packing.scale.dtype = DType::kF16;
  model::FormatSheet sheet;
  for (const model::ModuleId& id : model::modules_of(spec)) {
    const std::string name = model::module_name(id);
    const model::MatrixShape shape = model::module_shape(spec, id.role);
    if (checkpoint.find(name + ".weight_ternary") != nullptr) {
      sheet.modules.push_back(
          {name,
           id,
           shape.rows,
           shape.cols,
           {{"codes", name + ".weight_ternary"}, {"scale", name + ".weight_scale"}},
           packing});
    } else {
      sheet.plain[name] = name + ".weight";
    }
  }
  return sheet;
}

Result<model::Weights> load_sample(const checkpoint::Checkpoint& checkpoint,
                                   const model::FormatSheet& sheet) {
  TRILITH_ASSIGN_OR_RETURN(
      const model::ModelSpec spec,
      model::model_spec_from_config(checkpoint.config(), checkpoint.generation_config()));
  return model::load_weights(checkpoint, spec, sheet);
}

}  // namespace trilith::faults
