// Announcements that leave something open: a type id whose writers disagree about the order of the
// weights. All modules of a file were written alike, so the bytes of all decide together, by two
// measures that a wrong order lowers: rows and columns that differ in size (an order that mixes
// rows averages that away), and columns that are large where the embedding and the norms are.
#pragma once

#include <vector>

#include "announce/source.h"
#include "packing/quant_matrix.h"

namespace trilith::announce {

// How clearly something stands out, in nats, and how many numbers it is a sum over: by chance it
// moves by the root of `terms`.
struct Weight {
  double nats = 0;
  double terms = 0;
  void add(const Weight& other) {
    nats += other.nats;
    terms += other.terms;
  }
};

// Counts of zeros in rows and columns, against even shares.
Weight overdispersion(const packing::QuantMatrix& matrix);
// Counts of zeros in columns, against `profile` (one number a column), by rank correlation.
Weight alignment(const packing::QuantMatrix& matrix, const std::vector<double>& profile);

// Settles the rivals marked `also_announced`: the reading that weighs most over all modules becomes
// the claim, and the statement says by how much. Where no reading leads clearly, the rivals stay:
// the announcement is ambiguous.
void settle_open_readings(const Source& source, Announcement& announcement);

}  // namespace trilith::announce
