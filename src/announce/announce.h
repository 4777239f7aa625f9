// The announced format of a checkpoint: config files, metadata, GGUF types and tensor names, read
// as claims about every packed linear. One recogniser a library family; the first that knows the
// checkpoint answers. Codes are looked at only where an announcement leaves an order open
// (open_readings.h): hold the claims against the bytes with verify.h before following them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "announce/claim.h"
#include "checkpoint/checkpoint.h"

namespace trilith::announce {

class Source;

// nullopt: the checkpoint is none of this family. An error: it says that it is, and contradicts
// itself or asks for what cannot be expressed.
using Recognised = std::optional<Result<Announcement>>;

struct Recogniser {
  std::string_view name;
  Recognised (*claims)(const Source&);
};

// In the order in which they are asked.
std::span<const Recogniser> recognisers();

// nullopt: nothing is announced that any recogniser knows. `checkpoint` must outlive the claims.
Recognised announced(const checkpoint::Checkpoint& checkpoint, const ShapeOf& shape_of);

}  // namespace trilith::announce
