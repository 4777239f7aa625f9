// What stored bytes say before any law is chosen. Packed weights are draws: a byte tells nothing of
// the bytes a fixed distance on, and the tensor looks the same from end to end. Text, pictures and
// counters fail the first, a page that was overwritten with something else fails the second. Both
// tests hold for every packing, as they look at halves of bytes and at no codes.
//
// Large tensors are sampled: the first 64 KiB for the first test, the start of each of 4096 windows
// for the second, which may then miss a page smaller than a window.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/tensor_view.h"

namespace trilith::inspect {

// Mutual information of half a byte and the same half of the same byte of a later word, less what
// chance gives, at the distance where it is largest. At most ln 16 = 2.77 nats; padding of half a
// tensor gives ln 2.
struct SerialDependence {
  double nats = 0;
  int64_t distance = 0;  // in words
};
SerialDependence serial_dependence(const TensorView& tensor);

// A contiguous part that is noise (all halves of bytes equally frequent) while the rest is not.
struct NoisePage {
  uint64_t begin = 0;  // bytes of the tensor
  uint64_t end = 0;
  double nats = 0;  // by which noise explains the part better than the rest of the tensor does
};
std::optional<NoisePage> noise_page(const TensorView& tensor);

// A pair of bits that occurs in one end of the tensor and never in the other, which is not padding:
// two packings in one tensor.
struct AlphabetChange {
  int code = 0;        // 0 to 3
  uint64_t begin = 0;  // of the bytes that hold it
  uint64_t end = 0;
};
std::optional<AlphabetChange> alphabet_change(const TensorView& tensor);

// An error that says why these bytes are no packed weights, or that a part of them is damaged.
Status like_packed_weights(const TensorView& tensor);

}  // namespace trilith::inspect
