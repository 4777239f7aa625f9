#include "support/temp_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "base/output_file.h"

namespace trilith::support {

namespace fs = std::filesystem;

TempFolder::TempFolder() {
  path_ = (fs::temp_directory_path() / "trilith_test_XXXXXX").string();
  TRILITH_CHECK(::mkdtemp(path_.data()) != nullptr);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TempFolder::file(std::string_view name) const {
  return (fs::path(path_) / name).string();
}

std::string TempFolder::write(std::string_view name, std::string_view content) const {
  const std::string path = file(name);
  TRILITH_CHECK(write_text_file(path, content).ok());
  return path;
}

std::vector<std::string> TempFolder::list() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace trilith::support
