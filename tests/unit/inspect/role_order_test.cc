#include "inspect/role_order.h"

#include <gtest/gtest.h>

#include "inspect/config_sizes.h"

namespace trilith::inspect {
namespace {

using model::Role;

ConfigSizes sizes() {
  ConfigSizes result;
  result.hidden = 64;
  result.intermediate = 96;
  result.layers = 2;
  result.heads = 4;
  result.kv_heads = 2;
  result.head_dim = 16;
  result.vocab = 100;
  return result;
}

std::vector<Role> allowed(int64_t rows, int64_t cols) {
  if (cols == 1) return {Role::kInputNorm, Role::kPostNorm, Role::kFinalNorm};
  if (rows == 100) return {Role::kEmbedding, Role::kLmHead};
  for (const LogicalShape& shape : linear_shapes(sizes())) {
    if (shape.rows == rows && shape.cols == cols) return shape.roles;
  }
  return {};
}

std::vector<OrderItem> execution_order() {
  std::vector<OrderItem> items = {{"embed", allowed(100, 64)}};
  for (int layer = 0; layer < 2; ++layer) {
    for (const auto& [rows, cols] : {std::pair{64, 1},
                                     {64, 64},
                                     {32, 64},
                                     {32, 64},
                                     {64, 64},
                                     {64, 1},
                                     {96, 64},
                                     {96, 64},
                                     {64, 96}}) {
      items.push_back({"", allowed(rows, cols)});
    }
  }
  items.push_back({"norm", allowed(64, 1)});
  items.push_back({"head", allowed(100, 64)});
  return items;
}

TEST(ConfigSizes, ShapesOfTheRoles) {
  const auto shapes = linear_shapes(sizes());
  ASSERT_EQ(shapes.size(), 5U);  // q = o, k = v, gate = up, down, head
  EXPECT_EQ(shapes[0].roles, (std::vector<Role>{Role::kQProj, Role::kOProj}));
}

TEST(ConfigSizes, OtherSpellingsAndMissingSizes) {
  const auto config = Json::parse(R"({"n_embd": 48, "n_layer": 3, "n_head": 4, "vocab_size": -1})");
  const ConfigSizes read = sizes_from_config(*config);
  EXPECT_EQ(read.hidden, 48);
  EXPECT_EQ(read.head_dim, 12);
  EXPECT_EQ(read.kv_heads, 4);
  EXPECT_EQ(read.vocab, 0);
  EXPECT_TRUE(linear_shapes(sizes_from_config(Json())).empty());
}

TEST(RoleOrder, ExecutionOrderComesFirst) {
  const auto assignments = assign_by_order(execution_order(), sizes());
  ASSERT_FALSE(assignments.empty());
  EXPECT_EQ(assignments[0].order, "execution order, embedding first");
  EXPECT_EQ(assignments[0].ids[1], (model::ModuleId{Role::kInputNorm, 0}));
  EXPECT_EQ(assignments[0].ids[10], (model::ModuleId{Role::kInputNorm, 1}));
  EXPECT_EQ(assignments[0].ids.back(), (model::ModuleId{Role::kLmHead, -1}));
}

TEST(RoleOrder, ShapesThatFitNoOrderGiveNothing) {
  auto items = execution_order();
  std::swap(items[7], items[9]);  // gate after down
  std::swap(items[2], items[9]);
  EXPECT_TRUE(assign_by_order(items, sizes()).empty());
  items = execution_order();
  items.pop_back();
  items.pop_back();
  EXPECT_TRUE(assign_by_order(items, sizes()).empty());
}

}  // namespace
}  // namespace trilith::inspect
