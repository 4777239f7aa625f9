#include "cli/implicit_inspect.h"

#include "base/log.h"
#include "inspect/inspection.h"

namespace trilith::cli {

model::InspectFunction implicit_inspect() {
  return [](const checkpoint::Checkpoint& checkpoint,
            const model::ModelSpec&) -> Result<model::FormatSheet> {
    TRILITH_ASSIGN_OR_RETURN(const inspect::Sheet sheet,
                             inspect::inspect_checkpoint(checkpoint, {}));
    switch (sheet.verdict) {
      case inspect::Verdict::kIdentified:
        log_info("no format is announced; the one that inspect identifies is used");
        return model::format_sheet_from_json(inspect::to_json(sheet));
      case inspect::Verdict::kAmbiguous:
        return Error::ambiguous("the bytes allow several formats: " + sheet.reason)
            .with_hint("`trilith inspect --assume FIELD=VALUE --save` decides");
      case inspect::Verdict::kRefused:
        break;
    }
    return Error::unsupported("the format is not known: " + sheet.reason);
  };
}

}  // namespace trilith::cli
