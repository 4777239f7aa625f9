// A documented checkpoint of tests/zoo, copied into a folder of its own so that a test can change
// what it says or what it holds.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "announce/announce.h"
#include "base/json.h"
#include "support/temp_folder.h"

namespace trilith::announce {

struct StoredCopy {
  DType dtype = DType::kU8;
  Shape shape;
  std::vector<std::byte> bytes;
};

class ZooCase {
 public:
  explicit ZooCase(const std::string& name);

  Json config;                                // written when the case is opened
  std::map<std::string, StoredCopy> tensors;  // likewise
  // The one tensor whose name ends so; fails the test when there is none.
  StoredCopy& tensor(const std::string& ending);
  // Key of quantization_config.
  void say(const std::string& key, Json value);

  // What the case announces; the views live as long as the case. Sizes of linears as config.json
  // says them, q, k and down by name.
  Recognised announced();

 private:
  support::TempFolder folder_;
  Json metadata_;
  std::optional<checkpoint::Checkpoint> checkpoint_;
};

}  // namespace trilith::announce
