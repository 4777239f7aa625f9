#include "reconcile/step_check.h"

#include <cmath>
#include <map>
#include <optional>

#include "base/check.h"
#include "reconcile/noise.h"

namespace trilith::reconcile {
namespace {

using reference::LinearOutput;
using reference::Matrix;
using reference::Operation;
using reference::Reference;
using reference::Step;
using reference::StepInputs;

Matrix difference_of(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, a.cols);
  for (size_t i = 0; i < a.values.size(); ++i) result.values[i] = a.values[i] - b.values[i];
  return result;
}

// Values known so far: recorded, or filled in by the reference.
class KnownValues {
 public:
  const Matrix* find(const std::string& point) const {
    const auto found = values_.find(point);
    return found == values_.end() ? nullptr : &found->second;
  }
  void set(const std::string& point, Matrix value) { values_[point] = std::move(value); }

 private:
  std::map<std::string, Matrix> values_;
};

class Walk {
 public:
  Walk(const Reference& reference, const PromptValues& recorded, double minimum_unit)
      : reference_(reference), recorded_(recorded), minimum_unit_(minimum_unit) {
    for (const int64_t row : recorded.rows) {
      row_ids_.push_back(recorded.ids[static_cast<size_t>(row)]);
    }
  }

  Result<std::vector<StepCheck>> run() {
    std::vector<StepCheck> checks;
    for (const Step& step : reference_.steps()) {
      const auto* output = recorded_.find(step.point);
      const std::optional<StepInputs> inputs = inputs_of(step);
      if (inputs) {
        TRILITH_ASSIGN_OR_RETURN(auto check, evaluate(step, *inputs, output));
        if (check) checks.push_back(*check);
      }
      if (output != nullptr) {
        known_.set(step.point, reference::to_matrix(output->rows, output->cols, output->values));
      }
    }
    return checks;
  }

 private:
  std::optional<StepInputs> inputs_of(const Step& step) const {
    if (!reference::is_row_local(step.operation) && !recorded_.is_whole()) return std::nullopt;
    StepInputs inputs;
    inputs.positions = recorded_.rows;
    if (step.operation == Operation::kEmbed) inputs.ids = row_ids_;
    for (const std::string& point : step.inputs) {
      const Matrix* value = known_.find(point);
      if (value == nullptr) return std::nullopt;
      inputs.values.push_back(value);
    }
    return inputs;
  }

  // Nothing when the output was not recorded; its value is then filled in.
  Result<std::optional<StepCheck>> evaluate(const Step& step, const StepInputs& inputs,
                                            const Recorded<float>* output) {
    StepCheck check{.step = &step, .difference = {}, .ratio = 0, .integers = {}};
    std::optional<reference::QuantisedActivation> codes;
    if (step.operation == Operation::kLinear) codes = recorded_codes(step);
    if (codes) {
      const auto compared =
          reference::compare_codes(*inputs.values[0], codes->codes, reference_.mode());
      check.integers = {true, compared.ties, compared.different, 0};
    }
    auto evaluated = codes ? reference_.evaluate_codes(step, std::move(*codes))
                           : reference_.evaluate(step, inputs);
    TRILITH_RETURN_IF_ERROR(evaluated);
    const LinearOutput& expected = *evaluated;
    if (output == nullptr) {
      known_.set(step.point, expected.value);
      return std::optional<StepCheck>();
    }
    if (output->rows != expected.value.rows || output->cols != expected.value.cols) {
      return Error::verification(
                 "a recorded point has another shape than the architecture gives it")
          .with_tensor(step.point)
          .with_expected(shape_string(Shape{expected.value.rows, expected.value.cols}))
          .with_found(shape_string(Shape{output->rows, output->cols}));
    }
    if (check.integers.compared) count_wrong_sums(step, expected, check.integers);
    const Matrix actual = reference::to_matrix(output->rows, output->cols, output->values);
    check.difference =
        compare(output->rows, output->cols, reference::to_floats(expected.value), output->values);
    TRILITH_ASSIGN_OR_RETURN(const Matrix floor, floor_of(step, inputs, expected, *output));
    check.ratio = floor_ratio(difference_of(actual, expected.value), floor);
    return std::optional(check);
  }

  // The activation codes the recorded run multiplied, with its scales.
  std::optional<reference::QuantisedActivation> recorded_codes(const Step& step) const {
    if (reference_.mode() == reference::Mode::kF32) return std::nullopt;
    const auto* codes = recorded_.find_integers(step.point + ".x_codes");
    const auto* scales = recorded_.find(step.point + ".x_scale");
    if (codes == nullptr || scales == nullptr || scales->rows != codes->rows || scales->cols != 1) {
      return std::nullopt;
    }
    reference::QuantisedActivation result{codes->rows, codes->cols, codes->values, {}};
    result.scales.assign(scales->values.begin(), scales->values.end());
    return result;
  }

  void count_wrong_sums(const Step& step, const LinearOutput& expected, IntegerCheck& check) const {
    const auto* sums = recorded_.find_integers(step.point + ".acc");
    if (sums == nullptr || sums->values.size() != expected.accumulators.size()) return;
    for (size_t i = 0; i < sums->values.size(); ++i) {
      if (sums->values[i] != expected.accumulators[i]) ++check.wrong_sums;
    }
  }

  // What rounding explains at this step: inputs moved by a unit, and the rounding of the output.
  Result<Matrix> floor_of(const Step& step, const StepInputs& inputs, const LinearOutput& expected,
                          const Recorded<float>& output) const {
    const double unit = std::max(unit_roundoff(output.values), minimum_unit_);
    Matrix floor(expected.value.rows, expected.value.cols);
    const bool quantised = expected.input.has_value();
    if (!quantised && step.operation != Operation::kEmbed) {
      std::vector<Matrix> moved;
      for (size_t i = 0; i < inputs.values.size(); ++i) {
        moved.push_back(jittered(*inputs.values[i], unit, i));
      }
      StepInputs moved_inputs{inputs.ids, {}, inputs.positions};
      for (const Matrix& value : moved) moved_inputs.values.push_back(&value);
      TRILITH_ASSIGN_OR_RETURN(const LinearOutput again, reference_.evaluate(step, moved_inputs));
      floor = difference_of(again.value, expected.value);
    }
    for (int64_t row = 0; row < floor.rows; ++row) {
      // An angle of `position` radians, computed in this precision, is off by up to unit ·
      // position.
      const double turn = step.operation == Operation::kRope
                              ? static_cast<double>(recorded_.rows[static_cast<size_t>(row)])
                              : 0.0;
      for (int64_t col = 0; col < floor.cols; ++col) {
        const double size = std::fabs(expected.value.row(row)[col]);
        floor.row(row)[col] = std::fabs(floor.row(row)[col]) + unit * size * (1 + turn);
      }
    }
    return floor;
  }

  const Reference& reference_;
  const PromptValues& recorded_;
  const double minimum_unit_;
  std::vector<int32_t> row_ids_;
  KnownValues known_;
};

}  // namespace

Result<std::vector<StepCheck>> check_steps(const Reference& reference, const PromptValues& recorded,
                                           double minimum_unit) {
  return Walk(reference, recorded, minimum_unit).run();
}

Result<PromptValues> rounded_run(const Reference& reference, const std::vector<int32_t>& ids) {
  Recorder recorder(ids);
  KnownValues known;
  for (const Step& step : reference.steps()) {
    StepInputs inputs;
    if (step.operation == Operation::kEmbed) inputs.ids = ids;
    for (const std::string& point : step.inputs) inputs.values.push_back(known.find(point));
    TRILITH_ASSIGN_OR_RETURN(const LinearOutput output, reference.evaluate(step, inputs));
    const std::vector<float> rounded = reference::to_floats(output.value);
    recorder.record(step.point, output.value.rows, output.value.cols, rounded);
    known.set(step.point, reference::to_matrix(output.value.rows, output.value.cols, rounded));
  }
  return recorder.take();
}

}  // namespace trilith::reconcile
