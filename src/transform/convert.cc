#include "transform/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "model/embedded_tokenizer.h"
#include "transform/gguf_output.h"
#include "transform/output_folder.h"
#include "transform/plan.h"
#include "transform/verify.h"

namespace trilith::transform {
namespace {

namespace fs = std::filesystem;

// What a folder holds beside weights that a reader of the model needs. config.json is rewritten;
// files that describe the old packing (quantize_config.json, a sheet) stay behind.
constexpr std::string_view kSideFiles[] = {"generation_config.json",
                                           "tokenizer.json",
                                           "tokenizer_config.json",
                                           "special_tokens_map.json",
                                           "added_tokens.json",
                                           "tokenizer.model",
                                           "vocab.json",
                                           "merges.txt",
                                           "vocab.txt",
                                           "chat_template.jinja",
                                           "chat_template.json",
                                           "preprocessor_config.json",
                                           "LICENSE",
                                           "LICENSE.txt",
                                           "LICENSE.md",
                                           "NOTICE",
                                           "USE_POLICY.md"};

Json rewritten_config(const Source& source, const Target& target, const ModelFacts& facts) {
  Json config = Json::object();
  const Json& before = source.checkpoint.config();
  for (const auto& [key, value] : *before.as_object()) {
    if (key == "quantization_config" || key == "quantization" || key == "compression_config") {
      continue;
    }
    config.set(key, value);
  }
  if (config.find("architectures") == nullptr) {  // of a GGUF file
    config.set("architectures", Json(Json::Array{source.spec.architecture}));
  }
  if (target.dense) {
    const std::string name = *target.dense == DType::kF16    ? "float16"
                             : *target.dense == DType::kBF16 ? "bfloat16"
                                                             : "float32";
    if (config.find("dtype") != nullptr) config.set("dtype", name);
    if (config.find("dtype") == nullptr || config.find("torch_dtype") != nullptr) {
      config.set("torch_dtype", name);
    }
  }
  if (target.library == nullptr) return config;
  const Json announced = target.library->config(facts);
  if (target.library->is_mlx) config.set("quantization", announced);
  config.set("quantization_config", announced);
  return config;
}

std::string model_float_type(const Json& config, const std::string& otherwise) {
  for (const char* key : {"torch_dtype", "dtype"}) {
    if (const std::string* name = config[key].as_string()) return *name;
  }
  return otherwise;
}

// The format sheet of packings that no library announces.
Json sheet_of(const Plan& plan, const Source& source) {
  model::FormatSheet sheet;
  if (source.spec.int8_activations) sheet.activation = "dynamic-token";
  for (const PlannedPart& part : plan.parts) {
    if (!part.spec) continue;
    model::ModuleFormat module{model::module_name(part.source->id),
                               part.source->id,
                               part.source->rows,
                               part.source->cols,
                               {},
                               *part.spec};
    for (const PlannedTensor& tensor : part.tensors) {
      if (!tensor.role.empty()) module.stored[tensor.role] = tensor.tensor.name;
    }
    sheet.modules.push_back(std::move(module));
  }
  return model::to_json(sheet);
}

// The output must not appear inside the folder that is being read. (Beside a single file it may.)
Status check_place(const std::string& input, const std::string& output) {
  std::error_code problem;
  if (!fs::is_directory(input, problem)) return {};
  const fs::path inside = fs::canonical(input, problem);
  const fs::path target = fs::weakly_canonical(fs::absolute(output), problem);
  const auto [end, ignored] =
      std::mismatch(inside.begin(), inside.end(), target.begin(), target.end());
  if (end != inside.end()) return {};
  return Error::usage("the output lies inside the model that is converted")
      .with_file(output)
      .with_hint("choose a folder beside it");
}

class Conversion {
 public:
  Conversion(const ConvertRequest& request, const Progress& progress)
      : request_(request), progress_(progress) {}

  Result<ConvertReport> run() {
    TRILITH_ASSIGN_OR_RETURN(const Source source, open_source(request_.input, request_.open));
    TRILITH_RETURN_IF_ERROR(check_place(request_.input, request_.output));
    describe(source);
    steps_ = source.parts.size() * (request_.verify ? 3 : 2);
    TRILITH_ASSIGN_OR_RETURN(Plan plan, make_plan(request_, source, [&] { return step(); }));
    report_.losses = std::move(plan.losses);
    report_.notes = std::move(plan.notes);
    if (report_.refused()) return std::move(report_);
    plan.facts.float_type = model_float_type(source.checkpoint.config(), plan.facts.float_type);
    account(plan);
    TRILITH_RETURN_IF_ERROR(write(source, plan));
    return std::move(report_);
  }

 private:
  void describe(const Source& source) {
    report_.from = source.format();
    report_.container = checkpoint::container_name(source.checkpoint.container());
    report_.origin = model::origin_name(source.origin);
    report_.to = request_.target->name;
    if (request_.target->library != nullptr) report_.library = request_.target->library->name;
    for (const TensorView& tensor : source.checkpoint.tensors()) {
      report_.bytes_in += tensor.bytes.size();
    }
    report_.dropped = source.of_packing;
    // A GGUF file holds parts of the model alone.
    auto& others = request_.target->ggml != nullptr ? report_.dropped : report_.carried;
    others.insert(others.end(), source.others.begin(), source.others.end());
  }

  void account(const Plan& plan) {
    report_.bytes_out = plan.bytes;
    report_.group = std::max<int64_t>(plan.facts.group, 0);
    for (const PlannedPart& part : plan.parts) {
      if (part.source == nullptr) continue;
      if (!part.spec) {
        ++report_.dense_parts;
        continue;
      }
      ++report_.packed_modules;
      report_.weights += part.source->rows * part.source->cols;
    }
  }

  Status write(const Source& source, const Plan& plan) {
    TRILITH_ASSIGN_OR_RETURN(OutputFolder folder,
                             OutputFolder::create(request_.output, plan.bytes));
    if (request_.target->ggml != nullptr) return write_file(source, plan, folder);
    std::vector<TensorToCome> tensors;
    for (const PlannedPart& part : plan.parts) {
      for (const PlannedTensor& tensor : part.tensors) tensors.push_back(tensor.tensor);
    }
    TRILITH_ASSIGN_OR_RETURN(
        SafetensorsFolder files,
        SafetensorsFolder::create(folder, std::move(tensors), request_.shard_bytes,
                                  Json::object({{"format", "pt"}})));
    for (const PlannedPart& part : plan.parts) {
      TRILITH_RETURN_IF_ERROR(
          encode_part(request_, source, part,
                      [&](const TensorToCome& tensor, std::span<const std::byte> bytes) {
                        return files.write(tensor.name, bytes);
                      }));
      if (part.source != nullptr) TRILITH_RETURN_IF_ERROR(step());
    }
    TRILITH_RETURN_IF_ERROR(files.finish());
    report_.files = files.files();
    TRILITH_RETURN_IF_ERROR(write_side_files(source, plan, folder));
    if (request_.verify) {
      TRILITH_ASSIGN_OR_RETURN(
          report_.verified_weights,
          verify_conversion(source, folder.file(""), request_.open.load, [&] { return step(); }));
    }
    return folder.commit();
  }

  Status write_file(const Source& source, const Plan& plan, OutputFolder& folder) {
    const std::string path = folder.file("model.gguf");
    TRILITH_RETURN_IF_ERROR(write_gguf(
        request_, source, plan, path, [&] { return step(); }, report_.notes));
    report_.files = 1;
    if (request_.verify) {
      TRILITH_ASSIGN_OR_RETURN(
          report_.verified_weights,
          verify_conversion(source, path, request_.open.load, [&] { return step(); }));
    }
    return folder.commit_file("model.gguf");
  }

  Status write_side_files(const Source& source, const Plan& plan, const OutputFolder& folder) {
    const Target& target = *request_.target;
    const Json config = rewritten_config(source, target, plan.facts);
    TRILITH_RETURN_IF_ERROR(folder.write_json("config.json", config));
    const bool with_sheet = target.row != nullptr && target.library == nullptr;
    if (with_sheet) {
      TRILITH_RETURN_IF_ERROR(folder.write_json(model::kSheetFile, sheet_of(plan, source)));
    }
    if (target.library != nullptr && target.library->has_quanto_map) {
      Json map = Json::object();
      for (const std::string& module : plan.facts.packed) {
        map.set(module, Json::object({{"weights", fmt::format("qint{}", plan.facts.bits)},
                                      {"activations", "none"}}));
      }
      TRILITH_RETURN_IF_ERROR(folder.write_json("quanto_qmap.json", map));
    }
    TRILITH_ASSIGN_OR_RETURN(const bool embedded, write_embedded_tokenizer(source, folder));
    for (const std::string_view name : kSideFiles) {
      if (embedded && name == "tokenizer.json") continue;  // one beside may be another model's
      const fs::path from = fs::path(source.checkpoint.folder()) / name;
      std::error_code problem;
      if (!fs::is_regular_file(from, problem)) continue;
      TRILITH_RETURN_IF_ERROR(folder.copy(from.string(), name));
      report_.side_files.emplace_back(name);
    }
    return note_activations(source, config, with_sheet, plan.facts);
  }

  // tokenizer.json from the keys of a GGUF file; whether there is one.
  Result<bool> write_embedded_tokenizer(const Source& source, const OutputFolder& folder) {
    const auto tokenizer = model::embedded_tokenizer(source.checkpoint);
    if (!tokenizer.ok()) {
      report_.notes.push_back(
          fmt::format("the tokenizer is not carried over: {}", tokenizer.error().to_string()));
      return false;
    }
    if (!*tokenizer) return false;
    TRILITH_RETURN_IF_ERROR(
        folder.write_json("tokenizer.json", model::for_other_readers(**tokenizer)));
    report_.side_files.emplace_back("tokenizer.json");
    return true;
  }

  Status note_activations(const Source& source, const Json& config, bool with_sheet,
                          const ModelFacts& facts) {
    TRILITH_ASSIGN_OR_RETURN(
        const model::ModelSpec spec,
        model::model_spec_from_config(config, source.checkpoint.generation_config()));
    const Json& inputs = config["quantization_config"]["config_groups"]["group_0"];
    const bool said = with_sheet || !inputs["input_activations"].is_null();
    const bool after = spec.int8_activations || (said && facts.int8_activations);
    if (after == source.spec.int8_activations || request_.target->dense) return {};
    report_.notes.push_back(
        after ? "readers of this format round activations to int8, those of the source did not"
              : "the source's readers round activations to int8, those of this format do not");
    return {};
  }

  Status step() {
    ++done_;
    if (!progress_ || progress_(static_cast<double>(done_) / static_cast<double>(steps_)))
      return {};
    Error error = Error::runtime("interrupted; nothing was written");
    error.kind = ErrorKind::kInterrupted;
    return error;
  }

  const ConvertRequest& request_;
  const Progress& progress_;
  ConvertReport report_;
  size_t steps_ = 1;
  size_t done_ = 0;
};

}  // namespace

Json ConvertReport::to_json() const {
  Json::Array lost;
  for (const Loss& loss : losses) {
    lost.push_back(
        Json::object({{"what", loss.what}, {"count", loss.count}, {"first", loss.first}}));
  }
  return Json::object(
      {{"verdict", refused() ? "refused" : "converted"},
       {"from", Json::object({{"format", from}, {"container", container}, {"said_by", origin}})},
       {"to", Json::object({{"format", to},
                            {"library", library.empty() ? Json() : Json(library)},
                            {"group_size", group > 0 ? Json(group) : Json()}})},
       {"packed_modules", packed_modules},
       {"dense_parts", dense_parts},
       {"weights", weights},
       {"bytes", Json::object({{"in", bytes_in}, {"out", bytes_out}})},
       {"files", files},
       {"dropped", Json::array(dropped)},
       {"carried", Json::array(carried)},
       {"side_files", Json::array(side_files)},
       {"notes", Json::array(notes)},
       {"losses", Json(std::move(lost))},
       {"verified_values", verified_weights ? Json(*verified_weights) : Json()}});
}

Error ConvertReport::refusal() const {
  std::vector<std::string> lines;
  for (const Loss& loss : losses) {
    lines.push_back(fmt::format("{}{} ({})", loss.count > 0 ? fmt::format("{} ", loss.count) : "",
                                loss.what, loss.first));
  }
  return Error::unsupported(
      fmt::format("{} cannot hold these weights; it would lose {}", to, fmt::join(lines, "; ")));
}

Result<ConvertReport> convert(const ConvertRequest& request, const Progress& progress) {
  return Conversion(request, progress).run();
}

}  // namespace trilith::transform
