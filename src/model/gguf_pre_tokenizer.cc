#include "model/gguf_pre_tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace trilith::model {
namespace {

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kDeepseekV3Cjk = "[一-龥぀-ゟ゠-ヿ]+";
constexpr const char* kDeepseekV3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kDeepseekCoderCjk = "[一-龥ࠀ-一가-퟿]+";

Json byte_level(bool use_regex) {
  return Json::object({{"type", "ByteLevel"},
                       {"add_prefix_space", false},
                       {"trim_offsets", true},
                       {"use_regex", use_regex}});
}

Json split(const char* pattern) {
  return Json::object({{"type", "Split"},
                       {"pattern", Json::object({{"Regex", pattern}})},
                       {"behavior", "Isolated"},
                       {"invert", false}});
}

Json digits(bool individual) {
  return Json::object({{"type", "Digits"}, {"individual_digits", individual}});
}

template <typename... Steps>
Json sequence(Steps... steps) {
  Json::Array list;
  (list.push_back(std::move(steps)), ...);
  return Json::object({{"type", "Sequence"}, {"pretokenizers", Json(std::move(list))}});
}

Json nfc() { return Json::object({{"type", "NFC"}}); }

// What a pre-tokenizer or normalizer does, without fields that have no part in it and with those
// that have a default: two files that do the same look the same.
Json essence(const Json& json) {
  if (json.is_null()) return {};
  for (const char* list : {"pretokenizers", "normalizers"}) {
    const Json::Array* const steps = json[list].as_array();
    if (steps == nullptr) continue;
    Json::Array kept;
    for (const Json& step : *steps) kept.push_back(essence(step));
    if (kept.empty()) return {};
    if (kept.size() == 1) return kept.front();
    return Json(std::move(kept));
  }
  Json kept = Json::object();
  for (const char* field :
       {"type", "add_prefix_space", "pattern", "behavior", "invert", "individual_digits"}) {
    if (json.find(field) != nullptr) kept.set(field, json[field]);
  }
  if (json["type"] == Json("ByteLevel")) {
    kept.set("use_regex", json["use_regex"].as_bool().value_or(true));
  }
  return kept;
}

using Maker = GgufPreTokenizer (*)();
constexpr std::pair<std::string_view, Maker> kKnown[] = {
    {"gpt-2",
     [] {
       return GgufPreTokenizer{byte_level(true), {}, false, false};
     }},
    {"smollm",
     [] {
       return GgufPreTokenizer{sequence(digits(true), byte_level(true)), {}, false, false};
     }},
    {"llama-bpe",
     [] {
       return GgufPreTokenizer{sequence(split(kLlama3), byte_level(false)), {}, true, true};
     }},
    {"qwen2",
     [] {
       return GgufPreTokenizer{sequence(split(kQwen2), byte_level(false)), nfc(), false, false};
     }},
    {"command-r",
     [] {
       return GgufPreTokenizer{sequence(digits(true), byte_level(true)), nfc(), false, false};
     }},
    {"deepseek-coder",
     [] {
       return GgufPreTokenizer{
           sequence(split("[\r\n]"), split(R"(\s?\p{L}+)"), split(R"(\s?\p{P}+)"),
                    split(kDeepseekCoderCjk), digits(true), byte_level(false)),
           {},
           false,
           false};
     }},
    {"deepseek-v3",
     [] {
       return GgufPreTokenizer{sequence(split(R"(\p{N}{1,3})"), split(kDeepseekV3Cjk),
                                        split(kDeepseekV3), byte_level(false)),
                               {},
                               false,
                               false};
     }},
    {"falcon",
     [] {
       Json marks = Json::object({{"type", "Punctuation"}, {"behavior", "Contiguous"}});
       return GgufPreTokenizer{
           sequence(std::move(marks), byte_level(true), digits(false), split("[0-9][0-9][0-9]")),
           {},
           false,
           false};
     }},
    {"gpt-4o",
     [] {
       return GgufPreTokenizer{sequence(split(kGpt4o), byte_level(false)), {}, false, false};
     }},
    {"tekken",
     [] {
       return GgufPreTokenizer{sequence(split(kTekken), byte_level(false)), {}, true, true};
     }},
};
// Other names of the same.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"llama3", "llama-bpe"},
                                                                      {"llama-v3", "llama-bpe"},
                                                                      {"starcoder", "smollm"},
                                                                      {"refact", "smollm"}};

}  // namespace

std::optional<GgufPreTokenizer> gguf_pre_tokenizer(std::string_view name) {
  for (const auto& [alias, of] : kAliases) {
    if (name == alias) name = of;
  }
  for (const auto& [known, make] : kKnown) {
    if (name == known) return make();
  }
  return std::nullopt;
}

std::string gguf_pre_tokenizer_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, make] : kKnown) names.push_back(name);
  for (const auto& [alias, of] : kAliases) names.push_back(alias);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string_view gguf_pre_tokenizer_name(const Json& tokenizer) {
  const Json cut = essence(tokenizer["pre_tokenizer"]);
  const Json normalizer = essence(tokenizer["normalizer"]);
  for (const auto& [name, make] : kKnown) {
    const GgufPreTokenizer known = make();
    if (essence(known.json) == cut && essence(known.normalizer) == normalizer &&
        known.ignore_merges == tokenizer["model"]["ignore_merges"].as_bool().value_or(false)) {
      return name;
    }
  }
  return {};
}

}  // namespace trilith::model
