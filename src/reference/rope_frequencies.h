// Angles a position of a rotary embedding, one for each pair of a head: theta^(-2i / head_dim), and
// what the scaled kinds make of them. Formulas follow transformers' modeling_rope_utils, in double.
#pragma once

#include <vector>

#include "model/model_spec.h"

namespace trilith::reference {

std::vector<double> rope_frequencies(const model::RopeSpec& spec);

}  // namespace trilith::reference
