// Announcements that leave something open: a type id whose writers disagree about the order of the
// weights. All modules of a file were written alike, so the bytes of all decide together.
#pragma once

#include "announce/claim.h"
#include "packing/quant_matrix.h"

namespace trilith::announce {

// By how many standard deviations the counts of zeros in rows and columns spread more than chance
// would spread them. Rows and columns of trained matrices differ in size, so the right order has
// the largest; an order that mixes rows averages them away.
double overdispersion(const packing::QuantMatrix& matrix);

// Settles the rivals marked `also_announced`: the reading with the largest overdispersion over all
// modules becomes the claim where it leads clearly, and the statement says so. Removes the rest.
void settle_open_readings(Announcement& announcement);

}  // namespace trilith::announce
