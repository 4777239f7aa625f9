// TempFolder: a fresh folder for one test, removed with everything in it at the end.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trilith::support {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;
  // Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view content) const;
  // The names in the folder, ordered.
  std::vector<std::string> list() const;

 private:
  std::string path_;
};

}  // namespace trilith::support
