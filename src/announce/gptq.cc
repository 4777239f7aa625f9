// GPTQ as AutoGPTQ, GPTQModel and auto-round write it (ModelCloud/GPTQModel,
// gptqmodel/nn_modules/qlinear; intel/auto-round, auto_round/export): words along the inputs,
// transposed. The versions differ in how zero points are stored: v1 stores z − 1.
#include <fmt/format.h>

#include "announce/families.h"
#include "announce/kn_words.h"

namespace trilith::announce {
namespace {

constexpr auto kInputs = WordsAlong::kInputs;

// What the config says beyond sizes.
struct Version {
  std::string format;  // of the announcement
  std::string where;   // of the statement about zero points
  bool stored_minus_one = true;
  bool planar = false;  // codes of 3, 5, 6 and 7 bits split into planes
  std::optional<bool> symmetric;
};

Result<Version> gptq_version(const Settings& settings) {
  Version version;
  version.symmetric = settings.values["sym"].as_bool();
  const std::string format = lower(text(settings.values, "checkpoint_format", "gptq"));
  version.where = settings.values["checkpoint_format"].is_null()
                      ? "default of checkpoint_format"
                      : settings.where + ".checkpoint_format";
  version.format = format;
  version.stored_minus_one = format == "gptq";
  version.planar = format == "gptq_p";
  if (settings.values["is_marlin_format"].as_bool().value_or(false)) {
    return Error::unsupported("weights repacked for the Marlin kernel are not read");
  }
  if (format != "gptq" && format != "gptq_v2" && format != "gptq_p") {
    return Error::unsupported(fmt::format("checkpoint_format '{}' is not read", format))
        .with_expected("gptq, gptq_v2 or gptq_p");
  }
  return version;
}

// Plain auto-round stores z, its GPTQ export z − 1.
Result<Version> autoround_version(const Settings& settings) {
  Version version;
  version.symmetric = settings.values["sym"].as_bool();
  const bool old_key = settings.values["packing_format"].is_null();
  const std::string format =
      lower(text(settings.values, old_key ? "backend" : "packing_format", "auto_round"));
  const std::string type = lower(text(settings.values, "data_type", "int"));
  if (type != "int") {
    return Error::unsupported(fmt::format("auto-round data_type '{}' is not read", type));
  }
  version.stored_minus_one = format.find("gptq") != std::string::npos;
  version.format = format;
  version.where = settings.where + (old_key ? ".backend" : ".packing_format");
  return version;
}

// Powers of two that make up the bits, the widest (and lowest) first: 7 = 4 + 2 + 1.
std::vector<int> planes_of(int bits) {
  std::vector<int> planes;
  for (const int width : {4, 2, 1}) {
    if ((bits & width) != 0) planes.push_back(width);
  }
  return planes;
}

packing::PackingSpec gptq_spec(const ClaimBuilder& builder, const KnSizes& sizes,
                               const Version& version) {
  packing::PackingSpec spec = kn_spec(builder, sizes, kInputs);
  spec.zero.stored_minus_one = version.stored_minus_one;
  if (spec.law.word_bits % sizes.bits == 0) return spec;
  spec.law.slots = 1;
  if (version.planar) {
    spec.law.unit = packing::UnitScope::kBlock;
    spec.law.block_elements = spec.law.word_bits;
    spec.law.sub_planes = spec.zero.sub_planes = planes_of(sizes.bits);
    spec.law.plane_strides.assign(spec.law.sub_planes.size(), 1);
  } else {
    spec.law.bitstream = packing::Bitstream::kLsbFirst;
    spec.zero.bitstream = true;
  }
  return spec;
}

Promises gptq_promises(const Version& version, int bits) {
  Promises promises;
  promises.centred = true;
  if (version.symmetric == true) promises.constant_zero = int64_t{1} << (bits - 1);
  return promises;
}

Result<Claim> gptq_claim(const Source& source, const std::string& module, const Version& version,
                         const SaidScheme& said) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const KnSizes sizes, take_kn_tensors(builder, said, kInputs));
  Claim& claim = builder.claim();
  claim.rows = sizes.rows;
  claim.cols = sizes.cols;
  claim.spec = gptq_spec(builder, sizes, version);
  claim.promises = gptq_promises(version, sizes.bits);
  state_kn(builder, sizes, said);
  builder.state("zero.stored", version.stored_minus_one ? "z-1" : "z", version.where);
  Version other = version;
  other.stored_minus_one = !version.stored_minus_one;
  claim.rivals.push_back({other.stored_minus_one ? "zero points stored less one (GPTQ v1)"
                                                 : "zero points stored as they are (GPTQ v2)",
                          gptq_spec(builder, sizes, other), claim.promises});
  return std::move(builder).finish();
}

}  // namespace

Recognised gptq_claims(const Source& source) {
  const Settings& settings = source.settings();
  const bool autoround = settings.method == "auto-round" || settings.method == "auto_round" ||
                         settings.method == "autoround" || settings.method == "intel/auto-round";
  const bool named = settings.method == "gptq" || settings.method == "gptqmodel" || autoround;
  // Without a config the names and the input index are GPTQ's own.
  if (!named && !(settings.method.empty() && !source.modules_with(".g_idx").empty() &&
                  !source.modules_with(".qweight").empty())) {
    return std::nullopt;
  }
  if (autoround && is_awq_export(settings)) return std::nullopt;
  const auto version = autoround ? autoround_version(settings) : gptq_version(settings);
  if (!version.ok()) return Result<Announcement>(version.error());
  Announcement announcement{settings.method.empty() ? "gptq" : settings.method, settings.where, {}};
  if (announcement.where.empty()) announcement.where = "tensor names";
  announcement.format += " " + version->format;
  const SaidScheme said = said_scheme(settings);
  for (const std::string& module : source.modules_with(".qweight")) {
    auto claim = gptq_claim(source, module, *version, said);
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
