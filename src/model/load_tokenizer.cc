#include "model/load_tokenizer.h"

#include <filesystem>
#include <span>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "model/embedded_tokenizer.h"

namespace trilith::model {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "tokenizer.json";

Result<std::optional<LoadedTokenizer>> from_file(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  TRILITH_ASSIGN_OR_RETURN(text::Tokenizer tokenizer, text::Tokenizer::from_file(path));
  return std::optional(LoadedTokenizer{std::move(tokenizer), sha256_hex(file.bytes())});
}

Result<std::optional<LoadedTokenizer>> embedded(const checkpoint::Checkpoint& checkpoint) {
  TRILITH_ASSIGN_OR_RETURN(const std::optional<Json> json, embedded_tokenizer(checkpoint));
  if (!json) return std::optional<LoadedTokenizer>();
  TRILITH_ASSIGN_OR_RETURN(text::Tokenizer tokenizer, text::Tokenizer::from_json(*json));
  const std::string text = json->dump();
  return std::optional(
      LoadedTokenizer{std::move(tokenizer), sha256_hex(std::as_bytes(std::span(text)))});
}

}  // namespace

Result<std::optional<LoadedTokenizer>> load_tokenizer(const checkpoint::Checkpoint& checkpoint,
                                                      const std::string& named) {
  std::error_code ignored;
  if (!named.empty()) {
    const fs::path path =
        fs::is_directory(named, ignored) ? fs::path(named) / kFile : fs::path(named);
    return from_file(path.string());
  }
  auto own = embedded(checkpoint);
  if (!own.ok()) {
    return std::move(own).error().with_hint(
        "the model's tokenizer.json, where one is published, can be given with --tokenizer");
  }
  if (*own) return own;
  const std::string beside = (fs::path(checkpoint.folder()) / kFile).string();
  if (!fs::exists(beside, ignored)) return std::optional<LoadedTokenizer>();
  return from_file(beside);
}

}  // namespace trilith::model
