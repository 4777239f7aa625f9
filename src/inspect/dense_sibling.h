// The dense sibling: unquantised weights of the same model, whole or a single matrix. Under the
// right reading a decoded matrix differs from its sibling by rounding alone; under a wrong order,
// sign, scale direction or zero point it does not. So it settles what statistics leave open.
//
// Names may differ: a sibling of the module's name is taken, else every one of its shape. Holds the
// checkpoint's memory maps; matrices are read when they are compared. const members may be called
// by several threads at once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "inspect/family_search.h"

namespace trilith::inspect {

struct Resemblance {
  std::string name;           // of the sibling
  double nats = 0;            // ≥ 0; −n/2 · ln(relative error), n bounded
  double relative_error = 0;  // ‖W − sibling‖² / ‖sibling‖²
  double cosine = 0;
};

class DenseSibling {
 public:
  // A model folder or a file. An error when it cannot be read or holds no float matrix.
  static Result<DenseSibling> open(const std::string& path);

  bool has_shape(int64_t rows, int64_t cols) const;
  // A matrix of the module's own name.
  bool has_name(const std::string& module, int64_t rows, int64_t cols) const;
  // The sibling that [rows, cols] values of `module` resemble most; nothing of that shape: nullopt.
  std::optional<Resemblance> best(const std::string& module, int64_t rows, int64_t cols,
                                  std::span<const float> dense) const;

 private:
  struct Matrix {
    const TensorView* tensor = nullptr;
    std::vector<float> values;  // empty until it is needed; then it stays
  };
  const std::vector<float>& values_of(Matrix& matrix) const;

  checkpoint::Checkpoint checkpoint_;
  mutable std::map<std::pair<int64_t, int64_t>, std::vector<Matrix>> by_shape_;
  std::unique_ptr<std::mutex> filling_ = std::make_unique<std::mutex>();  // of the values
};

// Whether a decoded matrix is this close to its sibling; a cosine. Even one bit a weight keeps 0.8;
// orders that are half right stay below 0.6.
inline constexpr double kResembles = 0.7;

// What the sibling says of `spec` on these modules: of the one that resembles it most.
std::optional<Resemblance> resemblance(const DenseSibling& sibling,
                                       const std::vector<PackedModule>& modules,
                                       const packing::PackingSpec& spec);

// Weighs every reading of a family against the sibling and ranks them anew. Whether the best one
// resembles it: then the doubts that statistics left are settled.
bool settle_by_sibling(FamilySearch& family, const DenseSibling& sibling);

}  // namespace trilith::inspect
