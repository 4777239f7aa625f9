// How the libraries name, shape and announce the tensors of a packed linear: what a converted
// checkpoint must hold, beside the bytes that packing::encode gives, for the library's own reader
// (and `announce`, which is held against files of those libraries) to know it. Formats that no
// library announces get plain names and a format sheet. Sources: the recognisers of announce/ name
// the file of each library.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/format_sheet.h"
#include "packing/catalogue.h"

namespace trilith::transform {

// What all packed modules of a converted model have in common, for the config.
struct ModelFacts {
  int bits = 0;
  int64_t group = 0;  // inputs a scale; −1 or 0: the whole row
  bool is_tensor_scale = false;
  bool symmetric = true;     // one zero point, in the middle
  bool group_index = false;  // columns in another order than their groups
  bool int8_activations = false;
  std::string float_type;             // of the model: "float16"
  std::vector<std::string> packed;    // module names
  std::vector<std::string> unpacked;  // linears that stay dense
  std::string row;                    // name of the format in the catalogue
  bool asymmetric_format = false;     // stores zero points at all
};

// A small tensor that the library keeps beside the codes.
struct BesideTensor {
  std::string suffix;
  packing::StoredTensor tensor;
};

struct Library {
  std::string_view name;  // "gptq"
  enum class WholeRow { kMinusOne, kRow, kNever } whole_row = WholeRow::kRow;
  std::vector<int64_t> groups = {};                  // that its kernels take; empty: any
  std::vector<DType> scale_types = {};               // empty: F16, BF16 and F32
  std::map<std::string, std::string> suffixes = {};  // codec role -> ".qweight"
  // The shape the library gives a tensor of `canonical` shape (codec.h).
  Shape (*shape)(std::string_view role, const packing::PackingSpec& spec, const Shape& canonical,
                 int64_t cols) = nullptr;
  std::vector<BesideTensor> (*beside)(const packing::PackingSpec& spec, int64_t rows, int64_t cols,
                                      const ModelFacts& facts) = nullptr;
  Json (*config)(const ModelFacts& facts) = nullptr;  // quantization_config
  bool is_mlx = false;                                // the config goes under "quantization" too
  bool has_quanto_map = false;                        // quanto_qmap.json names every module
};

// The library that reads the format of a catalogue row, or null.
const Library* library_of(const packing::CatalogueRow& row);

// Suffix of a role where no library says: ".weight", ".weight_scale", …
std::string plain_suffix(std::string_view role);

}  // namespace trilith::transform
