// TraceFile::parse on arbitrary bytes: never crashes, and what it accepts can be read throughout.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "reconcile/trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace reconcile = trilith::reconcile;
  const auto trace =
      reconcile::TraceFile::parse(std::as_bytes(std::span(data, size)), "trace.safetensors");
  if (!trace.ok()) return 0;
  for (int64_t prompt = 0; prompt < trace->prompt_count(); ++prompt) {
    TRILITH_CHECK(trace->rows(prompt).size() <= trace->ids(prompt).size());
    for (const std::string& point : trace->points(prompt)) {
      const trilith::TensorView* tensor = trace->find(prompt, point);
      TRILITH_CHECK(tensor != nullptr);
      TRILITH_CHECK(tensor->dim(0) == static_cast<int64_t>(trace->rows(prompt).size()));
      trilith::to_floats(*tensor);
      (void)trace->summary(prompt, point);
    }
  }
  return 0;
}
