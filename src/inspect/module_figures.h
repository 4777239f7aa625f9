// Figures of one decoded matrix for people: how often each code occurs, how many weights are zero
// and how that varies over rows, how large the scales are. For both kinds of sheet, searched and
// announced.
#pragma once

#include "inspect/sheet.h"
#include "packing/quant_matrix.h"

namespace trilith::inspect {

// Adds what the statistics pass over the stored words says (word_statistics.h): entropy of a field,
// least and most of the slots of a word, and how uneven stored rows and places of a row are in its
// commonest value (1: as chance has it).
void add_word_figures(const TensorView& codes, int bits, ModuleSheet& sheet);

// Sets code_counts, zero_share, row_zero_share, zero_blocks, scale and the unused codes.
void add_figures(const packing::QuantMatrix& matrix, ModuleSheet& sheet);

}  // namespace trilith::inspect
