#include "inspect/format_builder.h"

#include <algorithm>

namespace trilith::inspect {
namespace {

bool has_shape_of(model::Role role, const PackedModule& module, const ConfigSizes& sizes) {
  const auto shapes = linear_shapes(sizes);
  return std::any_of(shapes.begin(), shapes.end(), [&](const LogicalShape& shape) {
    return shape.rows == module.rows && shape.cols == module.cols &&
           std::find(shape.roles.begin(), shape.roles.end(), role) != shape.roles.end();
  });
}

Result<model::ModuleFormat> format_of(const PackedModule& module, const packing::PackingSpec& spec,
                                      const IdsByName& ids, const ConfigSizes& sizes) {
  const auto id = ids.find(module.name);
  if (id == ids.end()) {
    return Error::unsupported("its place in the network is not known").with_tensor(module.name);
  }
  if (!has_shape_of(id->second.role, module, sizes)) {
    return Error::unsupported("its shape is not that of its role").with_tensor(module.name);
  }
  model::ModuleFormat format;
  format.name = module.name;
  format.id = id->second;
  format.rows = module.rows;
  format.cols = module.cols;
  format.spec = spec;
  for (const auto& [role, tensor] : module.stored) format.stored[role] = tensor->name;
  return format;
}

}  // namespace

Result<model::FormatSheet> build_format(const std::vector<FamilySearch>& families,
                                        const std::vector<const Reading*>& readings,
                                        const std::vector<PlainModule>& plain, const IdsByName& ids,
                                        const ConfigSizes& sizes) {
  model::FormatSheet sheet;
  for (size_t f = 0; f < readings.size(); ++f) {
    for (const PackedModule& module : families[f].arrangements[readings[f]->arrangement].modules) {
      TRILITH_ASSIGN_OR_RETURN(model::ModuleFormat format,
                               format_of(module, readings[f]->hypothesis.spec, ids, sizes));
      if (module.bias != nullptr) {
        sheet.plain[model::module_name(format.id) + ".bias"] = module.bias->name;
      }
      sheet.modules.push_back(std::move(format));
    }
  }
  for (const PlainModule& module : plain) {
    if (const auto id = ids.find(module.name); id != ids.end()) {
      sheet.plain[model::module_name(id->second)] = module.weight->tensor->name;
    }
  }
  return sheet;
}

}  // namespace trilith::inspect
