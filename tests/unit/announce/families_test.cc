// Every family on a file of its real writer: what is claimed, that the bytes agree, and that a
// config which says something else is caught by the sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "announce/verify.h"
#include "zoo_case.h"

namespace trilith::announce {
namespace {

using packing::Scale;
using packing::Zero;
using testing::HasSubstr;

// The claim about the module whose name ends so.
const Claim* claim_of(const Recognised& announced, const std::string& ending) {
  if (!announced || !announced->ok()) return nullptr;
  for (const Claim& claim : (*announced)->claims) {
    if (claim.module.ends_with(ending)) return &claim;
  }
  return nullptr;
}

struct Honest {
  const char* name;
  int bits;
  int64_t group;  // of the scales of down_proj
  Scale::Index index;
  Zero::Kind zero;
};

class Families : public testing::TestWithParam<Honest> {};

TEST_P(Families, ClaimsHoldAgainstTheBytes) {
  ZooCase zoo(GetParam().name);
  const Recognised announced = zoo.announced();
  ASSERT_TRUE(announced.has_value());
  ASSERT_TRUE(announced->ok()) << announced->error().to_string();
  ASSERT_GE((*announced)->claims.size(), 3U);
  for (const Claim& claim : (*announced)->claims) {
    EXPECT_FALSE(claim.statements.empty()) << claim.module;
    const auto verified = verify(claim);
    ASSERT_TRUE(verified.ok()) << verified.error().to_string();
    EXPECT_FALSE(verified->contradiction) << verified->contradiction->to_string();
    EXPECT_GE(verified->findings.size(), 3U);
  }
  const Claim* const down = claim_of(announced, "down_proj");
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->spec.bits, GetParam().bits);
  EXPECT_EQ(down->spec.scale.index, GetParam().index);
  EXPECT_EQ(down->spec.scale.group, GetParam().group);
  EXPECT_EQ(down->spec.zero.kind, GetParam().zero);
  EXPECT_EQ(down->rows, zoo.config["hidden_size"].as_integer());
  EXPECT_EQ(down->cols, zoo.config["intermediate_size"].as_integer());
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, Families,
    testing::Values(
        Honest{"autogptq-4bit-g64", 4, 64, Scale::Index::kRowGroup, Zero::Kind::kInteger},
        Honest{"autogptq-8bit-perchannel", 8, -1, Scale::Index::kRowGroup, Zero::Kind::kInteger},
        Honest{"gptqmodel-v2-8bit-g64", 8, 64, Scale::Index::kRowGroup, Zero::Kind::kInteger},
        Honest{"autoround-plain-2bit-g32-asym", 2, 32, Scale::Index::kRowGroup,
               Zero::Kind::kInteger},
        Honest{"autoawq-gemm-g64", 4, 64, Scale::Index::kRowGroup, Zero::Kind::kInteger},
        Honest{"compressed-tensors-w4a16-g32-asym", 4, 32, Scale::Index::kRowGroup,
               Zero::Kind::kInteger},
        Honest{"compressed-tensors-w5a16-g32", 5, 32, Scale::Index::kRowGroup, Zero::Kind::kNone},
        Honest{"compressed-tensors-w8a8-tensor-f32", 8, 0, Scale::Index::kTensor,
               Zero::Kind::kNone},
        Honest{"compressed-tensors-mxfp4", 4, 32, Scale::Index::kRowGroup, Zero::Kind::kNone},
        Honest{"compressed-tensors-fp8-channel", 8, 0, Scale::Index::kRow, Zero::Kind::kNone},
        Honest{"autoawq-gemv-g32", 4, 32, Scale::Index::kRowGroup, Zero::Kind::kInteger},
        Honest{"autoround-gptq-6bit-g32", 6, 32, Scale::Index::kRowGroup, Zero::Kind::kInteger},
        Honest{"compressed-tensors-nvfp4", 4, 16, Scale::Index::kRowGroup, Zero::Kind::kNone},
        Honest{"hqq-4bit-g64-axis1", 4, 64, Scale::Index::kRowGroup, Zero::Kind::kFloat},
        Honest{"hqq-4bit-g64-axis0", 4, 64, Scale::Index::kModulo, Zero::Kind::kFloat},
        Honest{"quanto-int4-g64", 4, 64, Scale::Index::kRowGroup, Zero::Kind::kFloatShift},
        Honest{"quanto-float8-e4m3", 8, 0, Scale::Index::kRow, Zero::Kind::kNone},
        Honest{"mlx-3bit-g64", 3, 64, Scale::Index::kRowGroup, Zero::Kind::kFloatBias},
        Honest{"bnb-nf4-b128", 4, 128, Scale::Index::kFlatBlock, Zero::Kind::kNone},
        Honest{"bnb-int8", 8, 0, Scale::Index::kRow, Zero::Kind::kNone},
        Honest{"torchao-intx-unpacked-int3", 8, 32, Scale::Index::kRowGroup, Zero::Kind::kNone},
        Honest{"torchao-uint6", 6, 32, Scale::Index::kRowGroup, Zero::Kind::kInteger},
        Honest{"torchao-mxfp8", 8, 32, Scale::Index::kRowGroup, Zero::Kind::kNone},
        Honest{"transformers-bitnet-odd-rows", 2, 0, Scale::Index::kTensor, Zero::Kind::kNone},
        Honest{"own-bitnet-gpu-int2", 2, 0, Scale::Index::kTensor, Zero::Kind::kNone},
        Honest{"own-tmac-2bit", 2, 0, Scale::Index::kTensor, Zero::Kind::kNone},
        Honest{"transformers-gemma-mixed-2-4-8", 4, 0, Scale::Index::kRow, Zero::Kind::kNone}),
    [](const auto& param_info) {
      std::string name = param_info.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// What a config says against what the tensors' sizes allow.
struct Lie {
  const char* name;
  const char* key;
  Json value;
  const char* message;
};

TEST(Families, SizesContradictFalseConfigs) {
  const Lie lies[] = {
      {"autogptq-4bit-g64", "bits", 8, "announced bits contradict"},
      {"autogptq-4bit-g64", "group_size", 128, "group size contradicts"},
      {"autogptq-4bit-g64", "checkpoint_format", "marlin", "'marlin' is not read"},
      {"autoawq-gemm-g64", "bits", 8, "announced bits contradict"},
      {"autoawq-gemm-g64", "group_size", 32, "group size contradicts"},
      {"compressed-tensors-w4a16-g128", "format", "marlin-24", "'marlin-24' is not read"},
      {"quanto-int4-g64", "weights", "int2", "announced bits contradict"},
      {"transformers-bitnet-autobitlinear", "quantization_mode", "online", "asks for"},
      {"transformers-bitnet-autobitlinear", "use_rms_norm", true, "asks for"},
      {"own-tmac-2bit", "bm", 128, "another size than the architecture says"},
      {"own-tmac-2bit", "bits", 9, "without the sizes of its tiles"},
  };
  for (const Lie& lie : lies) {
    ZooCase zoo(lie.name);
    zoo.say(lie.key, lie.value);
    const Recognised announced = zoo.announced();
    ASSERT_TRUE(announced.has_value()) << lie.name;
    ASSERT_FALSE(announced->ok()) << lie.name << " " << lie.key;
    EXPECT_THAT(announced->error().to_string(), HasSubstr(lie.message));
  }
}

// Matrices that were joined along N before packing keep a scale each, filled up to four.
TEST(Families, JoinedMatricesOfTheBitnetGpuKernel) {
  ZooCase zoo("own-bitnet-gpu-int2");
  const auto set_scale = [&](const std::string& tensor, size_t place, float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    auto& bytes = zoo.tensor(tensor).bytes;
    bytes.at(2 * place) = static_cast<std::byte>(bits >> 16);
    bytes.at(2 * place + 1) = static_cast<std::byte>(bits >> 24);
  };
  set_scale("up_proj.weight_scale", 1, 0.5F);
  for (const char* part : {"weight", "weight_scale"}) {  // 128 rows: 64 of q, 32 of k and of v
    const auto down = zoo.tensors.find(std::string("model.layers.0.mlp.down_proj.") + part);
    ASSERT_NE(down, zoo.tensors.end());
    zoo.tensors[std::string("layers.0.attention.wqkv.") + part] = down->second;
    zoo.tensors.erase(down);
  }
  set_scale("wqkv.weight_scale", 1, 0.5F);
  set_scale("wqkv.weight_scale", 2, 0.25F);
  for (const bool named : {true, false}) {
    if (!named) zoo.config.set("quantization_config", Json());
    const Recognised announced = zoo.announced();
    ASSERT_TRUE(announced && announced->ok()) << named;
    const Claim* const up = claim_of(announced, "up_proj");
    ASSERT_NE(up, nullptr);
    EXPECT_EQ(up->spec.scale.index, Scale::Index::kSegment);
    EXPECT_EQ(up->spec.scale.segments, 2);
    const Claim* const qkv = claim_of(announced, "wqkv");
    ASSERT_NE(qkv, nullptr);
    EXPECT_EQ(qkv->spec.scale.segment_lengths, (std::vector<int64_t>{64, 32, 32}));
    const auto matrix = packing::decode(qkv->spec, qkv->stored, qkv->rows, qkv->cols);
    ASSERT_TRUE(matrix.ok()) << matrix.error().to_string();
    EXPECT_EQ(matrix->scales.at(1), 0.5F);
    EXPECT_EQ(matrix->scales.at(2), 0.25F);
  }
  set_scale("wqkv.weight_scale", 2, 0.0F);
  set_scale("wqkv.weight_scale", 3, 0.125F);
  const Recognised announced = zoo.announced();
  ASSERT_TRUE(announced && !announced->ok());
  EXPECT_THAT(announced->error().to_string(), HasSubstr("do not make up the rows"));
}

TEST(Families, MlxBitsAreHeldAgainstTheGroups) {
  ZooCase zoo("mlx-4bit-g64");
  for (const char* key : {"quantization", "quantization_config"}) {
    zoo.config.set(key, Json::object({{"bits", 8}, {"group_size", 64}}));
  }
  const Recognised announced = zoo.announced();
  ASSERT_TRUE(announced && !announced->ok());
  EXPECT_THAT(announced->error().to_string(), HasSubstr("bits and group size contradict"));
}

TEST(Families, OverridesForSingleModulesCount) {
  ZooCase zoo("autogptq-8bit-perchannel");
  zoo.say("bits", 4);
  zoo.say("dynamic", Json::object({{"+:.*_proj", Json::object({{"bits", 8}})}}));
  const Recognised announced = zoo.announced();
  ASSERT_TRUE(announced && announced->ok());
  EXPECT_EQ((*announced)->claims.front().spec.bits, 8);
}

TEST(Families, MissingTensorsAreNamed) {
  ZooCase zoo("autogptq-4bit-g64");
  zoo.tensors.erase("model.layers.0.self_attn.q_proj.scales");
  const Recognised announced = zoo.announced();
  ASSERT_TRUE(announced && !announced->ok());
  EXPECT_EQ(announced->error().tensor, "model.layers.0.self_attn.q_proj.scales");
}

TEST(Families, UnexplainedCodesContradict) {
  ZooCase zoo("autogptq-4bit-g64");
  zoo.tensors["model.layers.0.mlp.gate_proj.packed"] = {
      DType::kU8, {16, 16}, std::vector<std::byte>(256)};
  const Recognised announced = zoo.announced();
  ASSERT_TRUE(announced && !announced->ok());
  EXPECT_THAT(announced->error().to_string(), HasSubstr("does not explain this tensor"));
}

TEST(Families, NamesAloneAnnounce) {
  for (const char* name : {"autogptq-4bit-g64", "hqq-4bit-g64-axis1", "bnb-nf4-b64",
                           "compressed-tensors-w4a16-g128", "quanto-int4-g64"}) {
    ZooCase zoo(name);
    zoo.config.set("quantization_config", nullptr);
    const Recognised announced = zoo.announced();
    ASSERT_TRUE(announced.has_value()) << name;
    ASSERT_TRUE(announced->ok()) << announced->error().to_string();
    EXPECT_EQ((*announced)->claims.front().spec.bits, 4) << name;
  }
}

TEST(Families, UnknownMethodsAnnounceNothing) {
  ZooCase zoo("own-k4-row-f16");
  EXPECT_FALSE(zoo.announced().has_value());
}

TEST(Families, TheOrderOfInputsIsKeptWhereItMatters) {
  ZooCase zoo("autogptq-4bit-g64");
  StoredCopy& index = zoo.tensor("q_proj.g_idx");
  int32_t* const groups = reinterpret_cast<int32_t*>(index.bytes.data());
  const Recognised before = zoo.announced();
  ASSERT_NE(claim_of(before, "q_proj"), nullptr);
  EXPECT_FALSE(claim_of(before, "q_proj")->spec.group_index);
  std::swap(groups[0], groups[127]);
  const Recognised after = zoo.announced();
  const Claim* const claim = claim_of(after, "q_proj");
  ASSERT_NE(claim, nullptr);
  EXPECT_TRUE(claim->spec.group_index);
  EXPECT_EQ(claim->spec.scale.group, 64);
  EXPECT_TRUE(verify(*claim).ok());
}

}  // namespace
}  // namespace trilith::announce
