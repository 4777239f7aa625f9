// The names of two planes tell which is which, or say nothing.
#include "inspect/plane_names.h"

#include <gtest/gtest.h>

namespace trilith::inspect {
namespace {

using packing::PlaneRole;
using Roles = std::vector<PlaneRole>;

TEST(PlaneNames, TellSignsAndMasks) {
  EXPECT_EQ(plane_roles_by_name("a.neg_proj.weight_neg", "a.neg_proj.weight_pos"),
            (Roles{PlaneRole::kNegative, PlaneRole::kPositive}));
  EXPECT_EQ(plane_roles_by_name("up.plus", "up.minus"),
            (Roles{PlaneRole::kPositive, PlaneRole::kNegative}));
  EXPECT_EQ(plane_roles_by_name("up.sign", "up.mask"),
            (Roles{PlaneRole::kSign, PlaneRole::kNonzero}));
  EXPECT_EQ(plane_roles_by_name("up.nonzero_mask", "up.sign_mask"),
            (Roles{PlaneRole::kNonzero, PlaneRole::kSign}));
  EXPECT_EQ(plane_roles_by_name("w.posMask", "w.negMask"),
            (Roles{PlaneRole::kPositive, PlaneRole::kNegative}));
  EXPECT_EQ(plane_roles_by_name("up.p0", "up.p1"), std::nullopt);
  EXPECT_EQ(plane_roles_by_name("pos.p0", "pos.p1"), std::nullopt);
  EXPECT_EQ(plane_roles_by_name("up.sign", "up.neg"), std::nullopt);
}

}  // namespace
}  // namespace trilith::inspect
