// The recognisers of the library families, one source file each; announce.cc lists them.
#pragma once

#include "announce/announce.h"
#include "announce/source.h"

namespace trilith::announce {

Recognised gguf_claims(const Source& source);
Recognised gptq_claims(const Source& source);
Recognised awq_claims(const Source& source);
Recognised compressed_tensors_claims(const Source& source);
Recognised hqq_claims(const Source& source);
Recognised quanto_claims(const Source& source);
Recognised mlx_claims(const Source& source);
Recognised bitsandbytes_claims(const Source& source);
Recognised torchao_claims(const Source& source);
Recognised bitnet_claims(const Source& source);
Recognised gemma_claims(const Source& source);
Recognised tmac_claims(const Source& source);

// auto-round can export in AWQ's layout.
bool is_awq_export(const Settings& settings);

}  // namespace trilith::announce
