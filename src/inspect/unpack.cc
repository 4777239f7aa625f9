#include "checkpoint/safetensors.h"
#include "inspect/inspection.h"
#include "packing/codec.h"

namespace trilith::inspect {

Status unpack(const checkpoint::Checkpoint& checkpoint, const Sheet& sheet,
              const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(
      checkpoint::SafetensorsWriter writer,
      checkpoint::SafetensorsWriter::create(path, Json::object({{"format", "pt"}})));
  for (const ModuleSheet& module : sheet.modules) {
    TRILITH_RETURN_IF_ERROR(writer.declare(module.name, DType::kF32, {module.rows, module.cols}));
  }
  for (const ModuleSheet& module : sheet.modules) {
    packing::TensorsByRole tensors;
    for (const StoredInfo& part : module.stored) {
      const TensorView* tensor = checkpoint.find(part.name);
      if (tensor == nullptr) {
        return Error::damaged("a tensor of the sheet is gone").with_tensor(part.name);
      }
      tensors[part.role] = *tensor;
    }
    TRILITH_ASSIGN_OR_RETURN(const packing::QuantMatrix matrix,
                             packing::decode(module.spec, tensors, module.rows, module.cols));
    const std::vector<float> dense = matrix.dense();
    TRILITH_RETURN_IF_ERROR(writer.write(std::as_bytes(std::span(dense))));
  }
  return writer.finish();
}

}  // namespace trilith::inspect
